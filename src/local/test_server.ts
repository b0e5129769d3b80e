/** A real server in the same program, on a port of its own, for tests of programs that use one. */

import { connect, type ConnectOptions } from "../client/connect.ts";
import type { Devbox } from "../client/devbox.ts";
import { type RunningServer, startServer } from "../server/server.ts";
import { parseListenUrl } from "../transport/listen/listen_url.ts";
import { type LocalOptions, servingOptions } from "./local_options.ts";

/**
 * A server that runs until it is closed.
 *
 * ```ts
 * import { createTestServer, type LocalTestServer } from "exec-server/local";
 *
 * await using server: LocalTestServer = await createTestServer();
 * await using box = await server.connect();
 * console.log(server.url, (await box.run(["true"])).code);
 * ```
 */
export class LocalTestServer implements AsyncDisposable {
  readonly #server: Pick<RunningServer, "url" | "shutDown">;

  /** For this library: use `createTestServer`. */
  constructor(server: { readonly url: string; shutDown(): Promise<void> }) {
    this.#server = server;
  }

  /** Where it listens: `ws://127.0.0.1:PORT`. */
  get url(): string {
    return this.#server.url;
  }

  /** A box on it. */
  connect(options: ConnectOptions = {}): Promise<Devbox> {
    return connect(this.url, options);
  }

  /** Ends it with everything it runs. */
  async close(): Promise<void> {
    await this.#server.shutDown();
  }

  /** Ends it with everything it runs. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

/**
 * Starts a server on a free port of this machine, for the current user alone.
 *
 * ```ts
 * import { createTestServer } from "exec-server/local";
 *
 * Deno.test("my tool builds", async () => {
 *   await using server = await createTestServer();
 *   await using box = await server.connect();
 *   if ((await box.run(["true"])).code !== 0) throw new Error("it does not");
 * });
 * ```
 */
export async function createTestServer(options: LocalOptions = {}): Promise<LocalTestServer> {
  return new LocalTestServer(
    await startServer({ ...servingOptions(options), listen: parseListenUrl("ws://127.0.0.1:0") }),
  );
}
