/**
 * The one family of errors this program throws on purpose.
 *
 * A domain error has a kind, which `rpc/wire_error.ts` turns into a wire code, and a message that may be shown to
 * the peer as it is. Everything else that is thrown is a fault of ours: it is logged whole and answered without detail.
 */

/** What went wrong, in the terms of the wire contract. Each kind has exactly one wire code. */
export type ErrorKind =
  /** The message or the order of messages breaks the protocol, or the request cannot be honoured as things stand. */
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

/** An expected failure: its message is fit for the peer. */
export class DomainError extends Error {
  override readonly name: string = "DomainError";
  readonly kind: ErrorKind;

  constructor(kind: ErrorKind, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.kind = kind;
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
