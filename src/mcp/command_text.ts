/**
 * A program with its arguments, as people and models read it: with escapes in place of what would hide a part of it on a
 * screen, or turn it round. Arguments can be megabytes: beginning and end are shown then, and the text says how much it
 * does not show.
 */

import { resolve } from "node:path/posix";
import { printableLines } from "../printable.ts";
import { joinWords } from "../rules/mod.ts";
import { lastName } from "../text_path.ts";
import type { ExecCall } from "./supervised_shell.ts";

export interface CommandText {
  /**
   * The program by its path, and its arguments as a shell would read them. One that is called under another name, which
   * can make it another program, has that name before it, as one would write it in Bash.
   */
  readonly text: string;
  /** Characters of it that are left out in its middle. */
  readonly hiddenChars: number;
}

/** Of another name: beside a longer one the program itself would not be shown. */
const MAX_NAME_CHARS = 256;

/** At most `maxChars` characters of the command, and between them a note where some are left out. */
export function commandText(call: Pick<ExecCall, "file" | "argv" | "cwd">, maxChars: number): CommandText {
  const { file, argv: [name = "", ...args] } = call;
  const other = isCalledByItsName(call) ? null : shortened(joinWords([name]), MAX_NAME_CHARS);
  const program = other === null ? file : `exec -a ${other.text} ${file}`;
  const { text, hiddenChars } = shortened(args.length === 0 ? program : `${program} ${joinWords(args)}`, maxChars);
  return { text: printableLines(text), hiddenChars: hiddenChars + (other?.hiddenChars ?? 0) };
}

function shortened(whole: string, maxChars: number): CommandText {
  if (whole.length <= maxChars) return { text: whole, hiddenChars: 0 };
  const half = Math.floor(maxChars / 2);
  const [from, to] = [characterStart(whole, half), characterStart(whole, whole.length - half)];
  const hiddenChars = to - from;
  return { text: `${whole.slice(0, from)}… ${hiddenChars} characters not shown …${whole.slice(to)}`, hiddenChars };
}

/** What a shell that was told a name or a path calls a program. */
function isCalledByItsName({ file, argv: [name], cwd }: Pick<ExecCall, "file" | "argv" | "cwd">): boolean {
  return name !== undefined && (name === lastName(file) || (name.includes("/") && resolve(cwd, name) === file));
}

/** Half of a character is not text: there are clients that cannot read a message with one. */
function characterStart(text: string, at: number): number {
  const isInside = /^[\ud800-\udbff][\udc00-\udfff]$/.test(text.slice(at - 1, at + 1));
  return isInside ? at - 1 : at;
}
