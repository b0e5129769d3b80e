/**
 * The one family of errors this program throws on purpose.
 *
 * A domain error has a kind, which has a wire code (`protocol/error_codes.ts`), and a message that may be shown to the
 * peer. Anything else that is thrown is our fault: it is logged whole and answered without detail.
 */

/** What went wrong, in the terms of the wire contract. Each kind has exactly one wire code. */
export type ErrorKind =
  /** The message or the order of messages breaks the protocol, or the request cannot be carried out as things stand. */
  | "invalidRequest"
  /** The method does not exist, or this build does not implement it. */
  | "methodNotFound"
  /** The parameters do not decode, or contradict each other. */
  | "invalidParams"
  /** The operating system or a child refused; the message says how. */
  | "internal"
  /** A path or handle that does not exist, in filesystem methods. */
  | "notFound"
  /** A session that another connection still holds. */
  | "sessionAttached";

/** An expected failure, whose message may be shown to the peer. */
export class DomainError extends Error {
  override readonly name: string = "DomainError";
  readonly kind: ErrorKind;
  /** More for the log, where the message must be the reference's and says too little. */
  readonly detail: string | undefined;

  constructor(kind: ErrorKind, message: string, options?: { cause?: unknown; detail?: string }) {
    super(message, options);
    this.kind = kind;
    this.detail = options?.detail;
  }
}

export function invalidRequest(message: string, cause?: unknown): DomainError {
  return new DomainError("invalidRequest", message, { cause });
}

export function invalidParams(message: string, cause?: unknown): DomainError {
  return new DomainError("invalidParams", message, { cause });
}

export function internalError(message: string, cause?: unknown): DomainError {
  return new DomainError("internal", message, { cause });
}

export function notFound(message: string, cause?: unknown): DomainError {
  return new DomainError("notFound", message, { cause });
}

export function methodNotFound(method: string): DomainError {
  // The reference server's text, which clients show to people.
  return new DomainError("methodNotFound", `exec-server stub does not implement \`${method}\` yet`);
}

/** What is said of something that was thrown, which need not be an error. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
