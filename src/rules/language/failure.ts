/**
 * How a rule file fails.
 *
 * Inside the language a `Failure` is thrown: a reason, and a place if the thrower knows it. At the edge it becomes a
 * `RuleFileError`, which people read: the reason, the file, line and column, the line itself, and the calls that led
 * there. Texts and layout are the reference's where it has the same failure, since tools look for them.
 */

import type { Position, SourceText, Span } from "./source_text.ts";

/** Something in the file is wrong. Never leaves this folder. */
export class Failure extends Error {
  override readonly name = "Failure";
  readonly span: Span | null;

  constructor(reason: string, span: Span | null = null) {
    super(reason);
    this.span = span;
  }
}

/** One call on the way to a failure: where it was made, and in which function that is. */
export interface CallSite {
  readonly span: Span;
  readonly inFunction: string;
}

export class RuleFileError extends Error {
  override readonly name = "RuleFileError";
  readonly file: string;
  /** The first line of the message: what is wrong, in one sentence. */
  readonly reason: string;
  readonly position: Position | null;

  constructor(file: string, reason: string, place: { position: Position; shown: string } | null) {
    super(place === null ? reason : `starlark error: ${place.shown}`);
    this.file = file;
    this.reason = reason;
    this.position = place?.position ?? null;
  }
}

/** A failure at a place of the file, with the calls that led to it, outermost first. */
export function failureAt(
  source: SourceText,
  reason: string,
  span: Span,
  calls: readonly CallSite[] = [],
): RuleFileError {
  const lines: string[] = [];
  if (calls.length > 0) lines.push("Traceback (most recent call last):");
  for (const call of calls) {
    const { line } = source.position(call.span.start);
    lines.push(`  * ${source.file}:${line}, in ${call.inFunction}`, `      ${source.line(line).trim().slice(0, 160)}`);
  }
  lines.push(`error: ${reason}`, source.excerpt(span));
  return new RuleFileError(source.file, reason, { position: source.position(span.start), shown: lines.join("\n") });
}
