/** The `rm` command: removes files and directories of a box. */

import { quoted, refusal, usageError } from "../cli_error.ts";
import type { FlagTable } from "../flags.ts";
import { boxPath } from "./box_path.ts";
import { runClientCommand } from "./client_command.ts";
import { EXIT } from "./exit_codes.ts";
import { tellFailure } from "./failure.ts";
import { openBox } from "./open_box.ts";
import { HELP_FLAG, WHERE_FLAGS } from "./places/place.ts";

const INTRODUCTION = `Usage: exec-server rm [@NAME] [-r] [-f] PATH...

Removes files and links of the box, and with -r directories with everything in
them. Of a link, only the link itself is removed.

  exec-server rm @devbox build.log
  exec-server rm @devbox -rf project/node_modules`;

export const RM_FLAGS = {
  recursive: {
    section: "What",
    kind: "switch",
    short: "r",
    default: false,
    hasVariable: false,
    help: "Remove directories, too, with everything in them.",
  },
  force: {
    section: "What",
    kind: "switch",
    short: "f",
    default: false,
    hasVariable: false,
    help: "Ignore paths that do not exist.",
  },
  ...WHERE_FLAGS,
  help: HELP_FLAG,
} as const satisfies FlagTable;

/** Resolves with the exit code. */
export function rm(args: readonly string[]): Promise<number> {
  return runClientCommand(args, {
    flags: RM_FLAGS,
    introduction: INTRODUCTION,
    async run({ positionals: paths, ...where }) {
      const { recursive, force } = where.values;
      if (paths.length === 0 && !force) throw usageError("nothing to remove: give a path");
      const opened = await openBox(where);
      await using box = opened.box;
      let exitCode: number = EXIT.ok;
      for (const path of paths) {
        try {
          const place = boxPath(path, opened);
          if (/^\/?$|(^|\/)\.{1,2}$/.test(place)) {
            throw refusal(`refusing to remove ${quoted(path)}: name a file or directory below it`);
          }
          if (!recursive) await refuseDirectory(box.fs.stat(place), path);
          await box.fs.remove(place, { recursive, force });
        } catch (error) {
          exitCode = tellFailure(path, error);
        }
      }
      return exitCode;
    },
  });
}

async function refuseDirectory(looking: Promise<{ isDirectory: boolean; isSymlink: boolean }>, path: string) {
  // The removal itself reports missing paths, and handles links that lead nowhere.
  const info = await looking.catch(() => null);
  if (info?.isDirectory && !info.isSymlink) throw refusal(`${quoted(path)} is a directory: use -r`);
}
