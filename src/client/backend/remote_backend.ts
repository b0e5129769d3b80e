/** A server as a place where processes run. */

import { type Address, connect, type ConnectOptions } from "../connect.ts";
import type { Devbox } from "../devbox.ts";

/**
 * Connects to a server. The same as `connect`, under the name of what programs need that know backends alone.
 *
 * ```ts
 * const place: ExecBackend = await remoteBackend("ws://127.0.0.1:9000");
 * console.log((await place.run(["uname"])).stdoutText);
 * ```
 */
export function remoteBackend(address: Address, options: ConnectOptions = {}): Promise<Devbox> {
  return connect(address, options);
}
