/**
 * Ends a TCP connection that another part of this process holds, at once and whatever is still to be sent.
 *
 * For the runtime's TLS connections: after `close()` they wait until their peer has taken what is left, and keep the
 * descriptor until then.
 */

import { shutDownSocket } from "../descriptor.ts";
import { listOwnDescriptors } from "../children/procfs.ts";
import { type Endpoint, localEndpoint } from "./socket_owner.ts";

const SHUT_RDWR = 2;

/**
 * Whether it was found. A local address and port belong to one connection of a process, except for those it accepts.
 */
export function endConnection(local: Endpoint): boolean {
  const fd = listOwnDescriptors().find((fd) => isAt(fd, local));
  return fd !== undefined && shutDownSocket(fd, SHUT_RDWR);
}

function isAt(fd: number, { address, port }: Endpoint): boolean {
  try {
    const found = localEndpoint(fd);
    return found !== null && found.port === port && found.address.every((byte, index) => byte === address[index]);
  } catch {
    // No socket.
    return false;
  }
}
