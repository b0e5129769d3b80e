/** What `exec` and `shell` have in common on the command line: the directory and the variables. */

import type { Devbox } from "../../client/devbox.ts";
import { pathOf } from "../../client/fs/paths.ts";
import { messageOf } from "../../errors.ts";
import { quoted, refusal, usageError } from "../cli_error.ts";
import type { Environment, FlagTable } from "../flags.ts";
import type { Place } from "./places/place.ts";

/** `-C` and `-e`, in a section of the help; `where` is the sentence on the directory. */
export function runFlags(section: string, where: string) {
  return {
    cwd: {
      section,
      kind: "text",
      short: "C",
      placeholder: "DIR",
      default: null,
      hasVariable: false,
      whenAbsent: "this directory on your own server, home elsewhere",
      help: where,
    },
    env: {
      section,
      kind: "list",
      short: "e",
      placeholder: "NAME[=VALUE]",
      default: [],
      isWhole: true,
      hasVariable: false,
      help:
        "A variable to send; a name alone sends your own value. Without this flag only TERM, LANG, LC_* and the like are sent.",
    },
  } as const satisfies FlagTable;
}

/** Variables that tell a program about the user's terminal and language. */
const SENT = /^(TERM|COLORTERM|LANG|LANGUAGE|LC_[A-Z]+)$/;

/** The variables that are sent: the caller's terminal and language, those of the files, those of the flags. */
export async function sentVariables(
  { env: flags, files }: { readonly env: readonly string[]; readonly files: readonly string[] },
  env: Environment,
): Promise<Record<string, string>> {
  const sent: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) if (SENT.test(name) && value !== undefined) sent[name] = value;
  for (const path of files) {
    const text = await Deno.readTextFile(path).catch((error) => {
      const reason = messageOf(error);
      throw refusal(`cannot read --env-file ${quoted(path)}: ${reason}`, error);
    });
    Object.assign(sent, fileVariables(text, path));
  }
  for (const word of flags) {
    const [name, value] = splitVariable(word);
    if (name === "") throw usageError(`-e must be NAME=VALUE or NAME, not ${quoted(word)}`);
    // As in docker: a name alone sends the caller's own value, if it has one.
    const sentValue = value ?? env[name];
    if (sentValue !== undefined) sent[name] = sentValue;
  }
  return sent;
}

/** `NAME=VALUE` lines; blank lines and those that begin with `#` are passed over. A value is taken as it stands. */
function fileVariables(text: string, path: string): Record<string, string> {
  const variables: Record<string, string> = {};
  for (const [index, line] of text.split("\n").entries()) {
    if (/^\s*(#|$)/.test(line)) continue;
    const [name, value] = splitVariable(line.replace(/\r$/, ""));
    if (name === "" || value === null || /\s/.test(name)) {
      throw refusal(`cannot read --env-file ${quoted(path)}: line ${index + 1} is not NAME=VALUE`);
    }
    variables[name] = value;
  }
  return variables;
}

function splitVariable(word: string): [name: string, value: string | null] {
  const equals = word.indexOf("=");
  return equals < 0 ? [word, null] : [word.slice(0, equals), word.slice(equals + 1)];
}

/** `-C`, else the caller's own directory on this machine, else home there. */
export function workingDirectory(given: string | null, { box, place }: { box: Devbox; place: Place }): string {
  const base = place.kind === "own" ? Deno.cwd() : home(box);
  if (given === null) return base;
  if (given.startsWith("/")) return given;
  if (given === "~" || given.startsWith("~/")) return home(box) + given.slice(1);
  return `${base === "/" ? "" : base}/${given}`;
}

function home({ environment: { userHomeDir } }: Devbox): string {
  return userHomeDir === null ? "/" : pathOf(userHomeDir);
}
