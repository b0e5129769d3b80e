/**
 * The server as a function, for a program that has its own `Deno.serve`.
 *
 * Gate, dispatcher and rules at the door are those of `serve`. The websocket is the runtime's, and some bounds cannot
 * be kept with it: docs/embedding.md says which. That is why `serve` does not use it.
 */

import { systemClock } from "../clock.ts";
import { silentLogger } from "../log.ts";
import type { Authenticator } from "../transport/door/auth.ts";
import { type RequestInfo, RequestSource } from "../transport/request_source.ts";
import { serveLinks, type ServingOptions } from "./server.ts";

export interface HandlerOptions extends ServingOptions {
  /** Who is let in. Null must be written explicitly, and lets in everybody who can reach the program. */
  authenticator: Authenticator | null;
  /** Where the program passes on requests: `/exec` takes websockets at `/exec`, and probes at `/exec/readyz`. */
  path?: string;
  /** Web pages of these origins may connect, with a token: `https://app.example`. Default: none. */
  allowedOrigins?: readonly string[];
}

export interface Handler {
  /** Answers one request; to be given to `Deno.serve`, or called by it. */
  fetch(request: Request, info?: RequestInfo): Promise<Response>;
  /** Lets nobody in any more, ends all processes and sessions, and drops all connections. */
  shutDown(options?: { graceMs?: number }): Promise<void>;
}

/**
 * Creates a handler; `Deno.serve(handler.fetch)` serves with it, and `export default createHandler(…)` makes a module
 * for `deno serve`.
 */
export function createHandler(options: HandlerOptions): Handler {
  // JavaScript callers can forget it, and that would open the machine to everybody.
  if (options.authenticator === undefined) {
    throw new TypeError("Cannot create a handler: authenticator is missing; pass null explicitly to let everybody in");
  }
  const source = new RequestSource({
    basePath: basePathOf(options.path ?? "/"),
    authenticator: options.authenticator,
    allowedOrigins: options.allowedOrigins ?? [],
    clock: options.clock ?? systemClock,
    log: options.log ?? silentLogger(),
  });
  const server = serveLinks(source, options);
  return {
    fetch: (request, info) => source.handle(request, info ?? null),
    shutDown: (how) => server.shutDown(how),
  };
}

function basePathOf(path: string): string {
  if (!/^\/[^?#]*$/.test(path)) {
    throw new TypeError(`Cannot create a handler: path ${path} does not begin with a slash`);
  }
  return path.replace(/\/+$/, "");
}
