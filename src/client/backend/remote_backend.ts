/** A server as a place where processes run. */

import { type Address, connect, type ConnectOptions } from "../connect.ts";
import type { Devbox } from "../devbox.ts";

/**
 * Connects to a server. The same as `connect`, for programs that only know backends.
 *
 * ```ts
 * const place: ExecBackend = await remoteBackend("ws://127.0.0.1:9000");
 * console.log((await place.run(["uname"])).stdoutText);
 * ```
 */
export function remoteBackend(address: Address, options: ConnectOptions = {}): Promise<Devbox> {
  return connect(address, options);
}
