/** What the peer is told of a failure. */

import { DomainError } from "../errors.ts";
import { ERROR_CODES } from "../protocol/error_codes.ts";
import type { WireError } from "../rpc/envelope.ts";

/** What the peer is told about a failure. Only domain errors are written for the peer to read. */
export function toWireError(error: unknown): WireError {
  if (error instanceof DomainError) return { code: ERROR_CODES[error.kind], message: error.message };
  return { code: ERROR_CODES.internal, message: "internal error; the server's log has the details" };
}

/** Whether a failure is a fault of ours that belongs into the log with its stack. */
export function isUnexpected(error: unknown): boolean {
  return !(error instanceof DomainError);
}
