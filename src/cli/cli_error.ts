/**
 * How the command line says no: one error type that carries the exit status, and the quoting its messages use.
 *
 * A message is complete as it is, one line, fit for stderr. Values that may be secrets are never put into it.
 */

/** The words on the command line (or a variable standing in for one) cannot be understood. */
export const EXIT_USAGE = 2;
/** Understood, but refused: a bad listen address, a contradiction, an unreadable secret. */
export const EXIT_REFUSED = 1;

/** A refusal to run, with the status the program is to exit with. */
export class CliError extends Error {
  override readonly name = "CliError";
  readonly exitCode: typeof EXIT_USAGE | typeof EXIT_REFUSED;

  constructor(exitCode: typeof EXIT_USAGE | typeof EXIT_REFUSED, message: string, options?: { cause?: unknown }) {
    super(message, options);
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

/** A word somebody typed, made safe to show: quoted, on one line, without terminal escapes, bounded. */
export function quoted(text: string): string {
  const shown = text.length > MAX_QUOTED_CHARS ? text.slice(0, MAX_QUOTED_CHARS) + "…" : text;
  return JSON.stringify(shown).replace(/[\x7f-\x9f\u2028\u2029]/g, (char) => {
    return "\\u" + char.charCodeAt(0).toString(16).padStart(4, "0");
  });
}
