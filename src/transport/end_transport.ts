/**
 * Ends a connection of the runtime at once, by its own address, whatever is still to be sent. Closing it alone would keep
 * its descriptor until the other end has read all of that, which it may never do. Does nothing where libc is missing.
 */

import { whyNoLibc } from "../os/libc_access.ts";
import { endConnection } from "../os/loop/end_connection.ts";
import { parseIpAddress } from "./listen/ip_address.ts";

export function endTransport(local: Deno.Addr): void {
  if (!("hostname" in local) || whyNoLibc() !== null) return;
  const address = parseIpAddress(local.hostname);
  if (address !== null) endConnection({ address, port: local.port });
}
