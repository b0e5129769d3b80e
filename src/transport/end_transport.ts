/**
 * Ends a connection of the runtime at once, even if data is still to be sent. The connection is found by its own
 * address. Closing it would keep its descriptor until the other end has read all data, which it may never do. Does
 * nothing without libc.
 */

import { whyNoLibc } from "../os/libc_access.ts";
import { endConnection } from "../os/loop/end_connection.ts";
import { parseIpAddress } from "./listen/ip_address.ts";

export function endTransport(local: Deno.Addr): void {
  if (!("hostname" in local) || whyNoLibc() !== null) return;
  const address = parseIpAddress(local.hostname);
  if (address !== null) endConnection({ address, port: local.port });
}
