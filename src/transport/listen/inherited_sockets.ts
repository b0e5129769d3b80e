/**
 * Listening sockets that the service manager has opened and handed over (`LISTEN_FDS` of systemd).
 *
 * The manager keeps such a socket open while this program is replaced, so clients that connect meanwhile wait and are
 * not refused. The socket is chosen by its address, so that the checks of that address hold.
 */

import { setCloseOnExec, setNonblocking } from "../../os/descriptor.ts";
import { type Endpoint, localEndpoint } from "../../os/loop/socket_owner.ts";
import { parseIpAddress } from "./ip_address.ts";

/** The first descriptor that is handed over. Fixed by the convention, `sd_listen_fds(3)`. */
const FIRST_FD = 3;
/** Far more than service managers hand over. A larger number is a mistake. */
const MAX_SOCKETS = 64;

/** The descriptors meant for this process. Empty if there are none, or if they are for another process. */
export function inheritedDescriptors(env: Readonly<Record<string, string | undefined>>, pid: number): number[] {
  const count = Number(env.LISTEN_FDS ?? "");
  if (env.LISTEN_PID !== String(pid) || !Number.isInteger(count) || count < 1 || count > MAX_SOCKETS) return [];
  return Array.from({ length: count }, (_, index) => FIRST_FD + index);
}

/** The descriptor that listens at this address. @throws {Error} that says which ones there are */
export function inheritedAt(descriptors: readonly number[], hostname: string, port: number): number {
  const wanted = parseIpAddress(hostname)!;
  const found = descriptors.map((fd) => ({ fd, endpoint: endpointOf(fd) }));
  const match = found.find(({ endpoint }) => endpoint !== null && endpoint.port === port && isSame(endpoint, wanted));
  if (match === undefined) {
    const others = found.map(({ endpoint }) => endpoint === null ? "no TCP socket" : describe(endpoint)).join(", ");
    throw new Error(`the service manager has handed over ${others}: name the same address in its socket unit`);
  }
  for (const { fd } of found) setCloseOnExec(fd);
  setNonblocking(match.fd);
  return match.fd;
}

function endpointOf(fd: number): Endpoint | null {
  try {
    return localEndpoint(fd);
  } catch {
    return null; // Not a socket, or not open.
  }
}

function isSame({ address }: Endpoint, wanted: Uint8Array): boolean {
  return address.length === wanted.length && address.every((byte, index) => byte === wanted[index]);
}

function describe({ address, port }: Endpoint): string {
  if (address.length === 4) return `${address.join(".")}:${port}`;
  const view = new DataView(address.buffer, address.byteOffset);
  const groups = Array.from({ length: 8 }, (_, index) => view.getUint16(index * 2).toString(16));
  // The URL parser shortens it.
  return `${new URL(`ws://[${groups.join(":")}]`).hostname}:${port}`;
}
