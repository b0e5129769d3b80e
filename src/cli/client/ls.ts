/** The `ls` command: the names in a directory of a box. */

import type { ListedEntry } from "../../client/fs/file_options.ts";
import { printable } from "../../printable.ts";
import type { FlagTable } from "../flags.ts";
import { textTable } from "../text_table.ts";
import { boxPath } from "./box_path.ts";
import { runClientCommand } from "./client_command.ts";
import { EXIT } from "./exit_codes.ts";
import { tellFailure } from "./failure.ts";
import { byteText, modeText } from "./human_text.ts";
import { type OpenBox, openBox } from "./open_box.ts";
import { allSwitch, JSON_FLAG, printed, printedJson } from "./output_flags.ts";
import { HELP_FLAG, WHERE_FLAGS } from "./places/place.ts";

const INTRODUCTION = `Usage: exec-server ls [@NAME] [-l] [-a] [--json] [PATH...]

Lists directories of the box: one name per line, or with -l details of each. A
path is absolute, begins with ~/, or is relative: to this directory on your own
server, to home elsewhere. Without a path that directory is listed.

  exec-server ls @devbox -l /var/log
  exec-server ls @devbox --json project`;

export const LS_FLAGS = {
  long: {
    section: "Output",
    kind: "switch",
    short: "l",
    default: false,
    hasVariable: false,
    help: "Show mode, owner, size and time of each.",
  },
  all: allSwitch("Also list names that begin with a dot."),
  json: JSON_FLAG,
  ...WHERE_FLAGS,
  help: HELP_FLAG,
} as const satisfies FlagTable;

/** Resolves with the exit code. */
export function ls(args: readonly string[]): Promise<number> {
  return runClientCommand(args, {
    flags: LS_FLAGS,
    introduction: INTRODUCTION,
    async run({ positionals, ...where }) {
      const { long, all, json } = where.values;
      const opened = await openBox(where);
      await using _closing = opened.box;
      const paths = positionals.length === 0 ? [""] : positionals;
      const records: { directory: string; entries: ListedEntry[] }[] = [];
      let exitCode: number = EXIT.ok;
      for (const path of paths) {
        try {
          const entries = (await listed(path, opened)).filter(({ name }) => all || !name.startsWith("."));
          records.push({ directory: boxPath(path, opened), entries: entries.sort(byName) });
        } catch (error) {
          exitCode = tellFailure(path, error);
        }
      }
      if (json) return await printedJson(records, exitCode);
      const texts = records.map(({ directory, entries }) =>
        (paths.length > 1 ? `${printable(directory)}:\n` : "") + (long ? longText(entries) : shortText(entries))
      );
      return await printed(texts.join("\n"), exitCode);
    },
  });
}

/** The entries of a directory; for anything else, the path itself. */
async function listed(path: string, opened: OpenBox): Promise<ListedEntry[]> {
  const { fs } = opened.box;
  const place = boxPath(path, opened);
  const { isDirectory } = await fs.stat(place);
  if (isDirectory) return await fs.list(place);
  const at = place.lastIndexOf("/");
  const entries = await fs.list(place.slice(0, at) || "/");
  return entries.filter(({ name }) => name === place.slice(at + 1));
}

function byName({ name: one }: ListedEntry, { name: other }: ListedEntry): number {
  return one < other ? -1 : one > other ? 1 : 0;
}

function shortText(entries: readonly ListedEntry[]): string {
  return entries.map(({ name }) => `${printable(name)}\n`).join("");
}

function longText(entries: readonly ListedEntry[]): string {
  return textTable(entries.map(({ kind, mode, nlink, uid, gid, size, modifiedAtMs, name, target }) => [
    modeText(kind, mode),
    String(nlink ?? "?"),
    String(uid ?? "?"),
    String(gid ?? "?"),
    byteText(size).padStart(5),
    new Date(modifiedAtMs).toISOString().slice(0, 16).replace("T", " "),
    printable(name) + (target === undefined ? "" : ` -> ${printable(target)}`),
  ]));
}
