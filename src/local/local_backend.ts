/** Processes right here, in the hands of the same library: no socket, no other program, the same process manager. */

import { openSession } from "../client/connect.ts";
import { Devbox } from "../client/devbox.ts";
import type { Session } from "../client/session/session.ts";
import { type RunningServer, serveLinks } from "../server/server.ts";
import { type LocalOptions, servingOptions } from "./local_options.ts";
import { MemorySource } from "./memory_source.ts";

/**
 * A box that is this machine. Closing it ends everything it started, and what it runs on.
 *
 * ```ts
 * import { type LocalBackend, localBackend } from "exec-server/local";
 *
 * await using box: LocalBackend = await localBackend();
 * console.log((await box.run(["uname"])).stdoutText);
 * ```
 */
export class LocalBackend extends Devbox {
  readonly #server: RunningServer;

  /** For this library: use `localBackend`. */
  constructor(session: Session, server: RunningServer) {
    super(session);
    this.#server = server;
  }

  /** Ends everything that was started here. Kept processes end with the backend. */
  override async close(): Promise<void> {
    await super.close();
    await this.#server.shutDown();
  }
}

/**
 * Runs processes on this machine, through the same interface as on a server.
 *
 * ```ts
 * import { localBackend } from "exec-server/local";
 *
 * await using box = await localBackend();
 * console.log(await box.$`uname -a`.text());
 * ```
 *
 * Needs Deno, with the permissions that the server needs.
 */
export async function localBackend(options: LocalOptions = {}): Promise<LocalBackend> {
  const source = new MemorySource();
  const server = serveLinks(source, servingOptions(options));
  try {
    return new LocalBackend(await openSession(source, { clientName: "local" }), server);
  } catch (error) {
    await server.shutDown();
    throw error;
  }
}
