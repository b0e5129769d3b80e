/**
 * The errors of the command line: one type with the exit status, and the quoting for its messages.
 *
 * A message is complete, has one line, and is safe for stderr, whatever it quotes. It never contains values that may be
 * secrets.
 */

import { printable, printableLines } from "../printable.ts";

/** The command line (or a variable used for a flag) cannot be understood. */
const EXIT_USAGE = 2;
/** Understood, but refused: a bad listen address, a contradiction, an unreadable secret. */
const EXIT_REFUSED = 1;

/** A refusal to run, with the program's exit status. */
export class CliError extends Error {
  override readonly name = "CliError";
  readonly exitCode: typeof EXIT_USAGE | typeof EXIT_REFUSED;

  constructor(exitCode: typeof EXIT_USAGE | typeof EXIT_REFUSED, message: string, options?: { cause?: unknown }) {
    // Texts of the runtime or of a server in it may hold anything. For a wrong rule file there are several lines.
    super(printableLines(message), options);
    this.exitCode = exitCode;
  }
}

export function usageError(message: string): CliError {
  return new CliError(EXIT_USAGE, message);
}

export function refusal(message: string, cause?: unknown): CliError {
  return new CliError(EXIT_REFUSED, message, { cause });
}

/** Enough of a mistyped word to recognise it; a pasted document does not fill the terminal. */
const MAX_QUOTED_CHARS = 80;

/** A word that a user typed, made safe to show: quoted, on one line, without terminal escapes, and not too long. */
export function quoted(text: string): string {
  const shown = text.length > MAX_QUOTED_CHARS ? text.slice(0, MAX_QUOTED_CHARS) + "…" : text;
  return printable(JSON.stringify(shown));
}

/** Refuses the first word that the command does not expect, if there is one. `help` is the command that says more. */
export function refuseSurplus(word: string | undefined, help = "--help"): void {
  if (word !== undefined) throw usageError(`unexpected argument ${quoted(word)}: see ${help}`);
}
