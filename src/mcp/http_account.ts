/**
 * Who counts as one client over HTTP, where a client may come with any number of connections and sessions. Decides about
 * bounds alone: what belongs to whom is up to the holder of the token.
 */

import { isLoopbackAddress, parseIpAddress } from "../transport/listen/ip_address.ts";
import { withoutPort } from "../transport/door/refusal_log.ts";

/** What a network gives to one machine: an IPv6 address of it is one of 2^64. */
const NETWORK_BYTES = 8;

/** The token's name, where tokens have names; else the machine that the peer is on. */
export function accountOf(holder: string | undefined, remote: string): string {
  return holder === undefined ? machineOf(withoutPort(remote)) : `token ${holder}`;
}

function machineOf(address: string): string {
  const text = address.replace(/^\[(.*)\]$/, "$1");
  // All of 127.0.0.0/8 is this machine, and a client may come from any of these.
  if (isLoopbackAddress(text)) return "this machine";
  const bytes = parseIpAddress(text);
  return bytes === null || bytes.length === 4 ? text : `network ${bytes.subarray(0, NETWORK_BYTES).toHex()}`;
}
