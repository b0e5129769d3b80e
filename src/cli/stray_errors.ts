/** Handles uncaught errors of a program that serves many clients. */

import { errorFields, type Logger } from "../log.ts";

/**
 * A fault in one request must not end the others: an uncaught error is logged with its stack, and the server goes on.
 */
export function surviveStrayErrors(log: Logger): void {
  globalThis.addEventListener("unhandledrejection", (event) => {
    event.preventDefault();
    log.error("unhandled rejection", errorFields(event.reason));
  });
  globalThis.addEventListener("error", (event) => {
    event.preventDefault();
    log.error("uncaught error", errorFields(event.error));
  });
}
