/** The wire code of every kind of error. `errors.ts` says when each kind occurs. */

import type { ErrorKind } from "../errors.ts";

/** Each kind with the code the reference uses for it. */
export const ERROR_CODES: Readonly<Record<ErrorKind, number>> = {
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internal: -32603,
  notFound: -32004,
  sessionAttached: -32010,
};
