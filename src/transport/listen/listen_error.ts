/**
 * Why the server cannot listen on an address, with the address. The system's own message says neither where nor what is
 * wrong.
 */

import { messageOf } from "../../errors.ts";
import { parentPath } from "../../text_path.ts";
import type { ListenerAddress } from "./listen_bind.ts";

export class ListenError extends Error {
  override readonly name = "ListenError";
  /** The address as a listen URL. */
  readonly url: string;
  readonly reason: string;

  constructor(url: string, reason: string, cause?: unknown) {
    super(`Cannot listen on ${url}: ${reason}`, cause === undefined ? {} : { cause });
    this.url = url;
    this.reason = reason;
  }
}

/** `ws://127.0.0.1:80`, `unix:/run/x.sock` */
export function urlOf(address: ListenerAddress, scheme: "ws" | "wss"): string {
  if (address.type === "unix") return `unix:${address.path}`;
  const { hostname, port } = address;
  return `${scheme}://${hostname.includes(":") ? `[${hostname}]` : hostname}:${port}`;
}

/**
 * Refuses an address whose scheme does not say what its connections would be. Served in the clear, `wss:` would give away
 * the tokens that its user believes to be safe; the other way about, no client of the address could connect.
 */
export function requireMatchingScheme(address: ListenerAddress, { hasTls }: { hasTls: boolean }): void {
  const asksForTls = address.type === "tcp" && address.isSecure === true;
  if (asksForTls === hasTls) return;
  const reason = asksForTls
    ? "it asks for TLS, and there is no certificate: give `tls`, which `loadTls` makes from two files, or listen on ws:"
    : "`tls` is given, and the address does not ask for it: listen on wss://IP:PORT, or leave out `tls`";
  throw new ListenError(urlOf(address, asksForTls ? "wss" : "ws"), reason);
}

/** The error that binding the address threw. */
export function listenError(url: string, address: ListenerAddress, error: unknown): ListenError {
  const said = messageOf(error);
  const reason = (address.type === "unix" ? whySocketFailed(address.path, error) : whyPortFailed(error)) ?? said;
  return new ListenError(url, reason, error);
}

function whyPortFailed(error: unknown): string | null {
  if (error instanceof Deno.errors.AddrInUse) return "the port is in use by another program";
  if (error instanceof Deno.errors.AddrNotAvailable) return "this machine has no such address";
  return null;
}

function whySocketFailed(path: string, error: unknown): string | null {
  if (error instanceof Deno.errors.AddrInUse) return whatIsThere(path);
  const parent = parentPath(path);
  if (error instanceof Deno.errors.PermissionDenied) return `cannot make a socket in ${parent}: ${error.message}`;
  if (!(error instanceof Deno.errors.NotFound) && !(error instanceof Deno.errors.NotADirectory)) return null;
  // The kernel's filesystems, such as /proc, give the same error for an existing directory.
  return whyNoDirectory(parent) ?? `no socket can be made in ${parent}`;
}

/** Null: it is a directory, or that cannot be seen. */
function whyNoDirectory(path: string): string | null {
  try {
    return Deno.statSync(path).isDirectory ? null : `${path} is not a directory`;
  } catch (error) {
    if (error instanceof Deno.errors.NotADirectory) return whyNoDirectory(parentPath(path));
    return error instanceof Deno.errors.NotFound ? `there is no directory ${path}` : null;
  }
}

/** Only a socket that nobody listens on is replaced. */
function whatIsThere(path: string): string | null {
  try {
    const { isSocket, isDirectory, isSymlink } = Deno.lstatSync(path);
    if (isSocket) return "another program listens there";
    return `there is ${
      isDirectory ? "a directory" : isSymlink ? "a link" : "a file"
    } of that name, which is left alone`;
  } catch {
    return null; // It is gone, or cannot be inspected: the system's message is used.
  }
}
