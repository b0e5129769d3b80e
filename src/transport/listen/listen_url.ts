/**
 * Listen URLs: where the server can be reached, as text and as data.
 *
 * Accepts `ws://IP:PORT`, `wss://IP:PORT`, `unix:/PATH`, `unix:///PATH`, `stdio` and `stdio://`, exactly as written: no
 * names that must be resolved, no percent-decoding, no default port. Everything else is refused with advice what to
 * write.
 */

import { shortened } from "../../log.ts";
import { parseIpAddress } from "./ip_address.ts";

/** Where a server listens by default: on this machine, at a port that the system chooses. */
export const DEFAULT_LISTEN_URL = "ws://127.0.0.1:0";

/** A listen URL that is not accepted. */
export class ListenUrlParseError extends Error {
  override readonly name = "ListenUrlParseError";
  readonly url: string;
  /** What is wrong with it, or what to write instead. */
  readonly reason: string;

  constructor(url: string, reason: string) {
    super(`listen URL ${JSON.stringify(shortened(url, MAX_QUOTED_CHARS))} is not accepted: ${reason}`);
    this.url = url;
    this.reason = reason;
  }
}

/** How many characters of a URL an error message shows. */
const MAX_QUOTED_CHARS = 80;

export type ListenAddress =
  /** `hostname` is a literal address without brackets; port 0 lets the system choose. `isSecure`: TLS. */
  | { readonly type: "tcp"; readonly hostname: string; readonly port: number; readonly isSecure?: true }
  /** `path` is absolute. */
  | { readonly type: "unix"; readonly path: string }
  | { readonly type: "stdio" };

/** `sun_path` of Linux holds 108 bytes with the closing zero. Systems with less refuse longer paths themselves. */
const MAX_SOCKET_PATH_BYTES = 107;

const MAX_PORT = 65_535;

/**
 * Reads a listen URL.
 *
 * @throws {ListenUrlParseError}
 */
export function parseListenUrl(url: string): ListenAddress {
  const refuse = (reason: string) => new ListenUrlParseError(url, reason);
  if (url === "stdio" || url === "stdio://") return { type: "stdio" };

  const unix = /^unix:(?:\/\/)?(?<path>.*)$/s.exec(url)?.groups;
  if (unix !== undefined) return { type: "unix", path: checkSocketPath(unix["path"]!, refuse) };

  const ws = /^ws:\/\/(?<rest>.*)$/s.exec(url)?.groups;
  if (ws !== undefined) return parseHostAndPort(ws["rest"]!, refuse);
  const wss = /^wss:\/\/(?<rest>.*)$/s.exec(url)?.groups;
  if (wss !== undefined) return { ...parseHostAndPort(wss["rest"]!, refuse), isSecure: true };

  throw refuse("use ws://IP:PORT, wss://IP:PORT, unix:/PATH or stdio");
}

function parseHostAndPort(text: string, refuse: (reason: string) => Error): ListenAddress & { readonly type: "tcp" } {
  const parts = /^(?:\[(?<v6>[^\]]*)\]|(?<v4>[^:/]*))(?<rest>.*)$/s.exec(text)?.groups ?? {};
  const hostname = parts["v6"] ?? parts["v4"] ?? "";
  const isBracketed = parts["v6"] !== undefined;
  const address = parseIpAddress(hostname);
  if (address === null || isBracketed !== (address.length === 16)) {
    throw refuse("the host must be a literal IP address, such as 127.0.0.1 or [::1]");
  }
  const rest = parts["rest"] ?? "";
  if (rest === "" || rest === ":") throw refuse("the port is missing; 0 lets the system choose one");
  const digits = /^:(\d+)$/.exec(rest)?.[1];
  if (digits === undefined) throw refuse("nothing but a port may follow the host");
  const port = Number(digits);
  if (port > MAX_PORT) throw refuse(`a port is at most ${MAX_PORT}`);
  return { type: "tcp", hostname, port };
}

function checkSocketPath(path: string, refuse: (reason: string) => Error): string {
  if (!path.startsWith("/")) throw refuse("the socket path must be absolute, such as unix:/run/exec-server.sock");
  if (path.endsWith("/")) throw refuse("the socket path names a directory");
  if (path.includes("\0")) throw refuse("the socket path holds a zero byte");
  if (new TextEncoder().encode(path).length > MAX_SOCKET_PATH_BYTES) {
    throw refuse(`the socket path is longer than ${MAX_SOCKET_PATH_BYTES} bytes`);
  }
  return path;
}
