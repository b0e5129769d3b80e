/** Binds the address of a listener: a port, or a unix socket that only its owner can connect to. */

import { listenError, urlOf } from "./listen_error.ts";
import { openStreamSource, type StreamSource, takeOverStreamSource } from "./stream_source.ts";

export type ListenerAddress =
  /** `isSecure`: what listens there speaks TLS. */
  | { readonly type: "tcp"; readonly hostname: string; readonly port: number; readonly isSecure?: true }
  | { readonly type: "unix"; readonly path: string };

/**
 * The source of connections, and its URL. Rejects with a `ListenError` if the address cannot be used.
 *
 * `inherited`: descriptors of sockets that were handed over. If there are any, one of them must listen at the address.
 */
export async function bindListener(
  address: ListenerAddress,
  scheme: "ws" | "wss",
  inherited: readonly number[] = [],
): Promise<{ source: StreamSource; url: string }> {
  try {
    if (inherited.length > 0) return { source: await takeOver(address, inherited), url: urlOf(address, scheme) };
    if (address.type === "unix") return { source: await bindUnix(address.path), url: urlOf(address, scheme) };
    const { hostname } = address;
    const source = openStreamSource(() => Deno.listen({ hostname, port: address.port }));
    const { port } = source.addr as Deno.NetAddr;
    return { source, url: urlOf({ ...address, port }, scheme) };
  } catch (error) {
    throw listenError(urlOf(address, scheme), address, error);
  }
}

async function takeOver(address: ListenerAddress, inherited: readonly number[]): Promise<StreamSource> {
  if (address.type === "unix") throw new Error("a service manager can only hand over a TCP socket");
  const { hostname, port } = address;
  const { inheritedAt } = await import("./inherited_sockets.ts");
  return takeOverStreamSource(inheritedAt(inherited, hostname, port), { transport: "tcp", hostname, port });
}

/**
 * Binds a unix socket. A file left behind by a server that is gone is replaced; a live one, or any other file, is not.
 */
async function bindUnix(path: string): Promise<StreamSource> {
  try {
    return openStreamSource(() => listenPrivately(path));
  } catch (error) {
    if (!(error instanceof Deno.errors.AddrInUse) || !await isDeadSocket(path)) throw error;
    Deno.removeSync(path);
    return openStreamSource(() => listenPrivately(path));
  }
}

/** Only the owner can connect, from the first moment: the file's mode follows the umask. */
function listenPrivately(path: string): Deno.Listener {
  const previousMask = Deno.umask(0o177);
  try {
    return Deno.listen({ transport: "unix", path });
  } finally {
    Deno.umask(previousMask);
  }
}

async function isDeadSocket(path: string): Promise<boolean> {
  try {
    (await Deno.connect({ transport: "unix", path })).close();
    return false;
  } catch (error) {
    return error instanceof Deno.errors.ConnectionRefused && Deno.lstatSync(path).isSocket === true;
  }
}
