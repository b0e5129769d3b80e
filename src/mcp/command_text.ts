/**
 * A program with its arguments, as people and models read it: with escapes in place of what would hide a part of it on a
 * screen, or turn it round. Arguments can be megabytes: beginning and end are shown then, and the text says how much it
 * does not show.
 */

import { printableLines } from "../printable.ts";
import { joinWords } from "../rules/mod.ts";
import type { ExecCall } from "./watched_shell.ts";

export interface CommandText {
  /** The program by its path, and its arguments as a shell would read them. */
  readonly text: string;
  /** Characters of it that are left out in its middle. */
  readonly hiddenChars: number;
}

/** At most `maxChars` characters of the command, and between them a note where some are left out. */
export function commandText({ file, argv }: Pick<ExecCall, "file" | "argv">, maxChars: number): CommandText {
  const args = argv.slice(1);
  const whole = args.length === 0 ? file : `${file} ${joinWords(args)}`;
  if (whole.length <= maxChars) return { text: printableLines(whole), hiddenChars: 0 };
  const half = Math.floor(maxChars / 2);
  const [from, to] = [characterStart(whole, half), characterStart(whole, whole.length - half)];
  const hiddenChars = to - from;
  const text = `${whole.slice(0, from)}… ${hiddenChars} characters not shown …${whole.slice(to)}`;
  return { text: printableLines(text), hiddenChars };
}

/** Half of a character is not text: there are clients that cannot read a message with one. */
function characterStart(text: string, at: number): number {
  const isInside = /^[\ud800-\udbff][\udc00-\udfff]$/.test(text.slice(at - 1, at + 1));
  return isInside ? at - 1 : at;
}
