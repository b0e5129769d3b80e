/** The one table from error kinds to wire codes, and what an unknown failure may say to the peer. */

import { DomainError, type ErrorKind } from "../errors.ts";
import type { WireError } from "./envelope.ts";

/** Each kind with the code the reference uses for it. */
export const ERROR_CODES: Readonly<Record<ErrorKind, number>> = {
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internal: -32603,
  notFound: -32004,
  sessionAttached: -32010,
};

/** What the peer learns of a failure. Only domain errors are written for its eyes. */
export function toWireError(error: unknown): WireError {
  if (error instanceof DomainError) return { code: ERROR_CODES[error.kind], message: error.message };
  return { code: ERROR_CODES.internal, message: "internal error; the server's log has the details" };
}

/** Whether a failure is a fault of ours that belongs into the log with its stack. */
export function isUnexpected(error: unknown): boolean {
  return !(error instanceof DomainError);
}
