/**
 * The directory for the socket of the user's own server, and for what commands remember: `exec-server` below
 * `${XDG_STATE_HOME:-~/.local/state}`. Not `$XDG_RUNTIME_DIR`, which is removed at the last logout. Running processes
 * could not be reached any more then.
 *
 * Promises a directory that belongs to this user and that nobody else can enter.
 */

import { messageOf } from "../../../errors.ts";
import { ownUid } from "../../../os/own_ids.ts";
import { refusal } from "../../cli_error.ts";
import type { Environment } from "../../flags.ts";

/** `sun_path` has 108 bytes with the zero at its end. */
const MAX_SOCKET_PATH_BYTES = 107;
export const SOCKET_NAME = "server.sock";
const PRIVATE = 0o700;

/** The path of the directory, without checking it. If the socket's path would be too long, a directory below /tmp. */
export function stateDirectory(env: Environment): string {
  const base = env["XDG_STATE_HOME"];
  const home = env["HOME"];
  const wanted = base?.startsWith("/")
    ? `${base}/exec-server`
    : home?.startsWith("/")
    ? `${home}/.local/state/exec-server`
    : null;
  const isShort = wanted !== null && byteLength(`${wanted}/${SOCKET_NAME}`) <= MAX_SOCKET_PATH_BYTES;
  return isShort ? wanted : `/tmp/exec-server-${ownUid() ?? "unknown"}`;
}

/** The path of the socket, whether it exists or not. */
export function ownSocketPath(env: Environment): string {
  return `${stateDirectory(env)}/${SOCKET_NAME}`;
}

/** Makes the directory if necessary, and checks whose it is. Throws an error if it cannot be used. */
export function prepareStateDirectory(path: string): void {
  try {
    Deno.mkdirSync(path, { recursive: true, mode: PRIVATE });
    checkOwner(path);
  } catch (error) {
    if (error instanceof Error && error.name === "CliError") throw error;
    throw refusal(`cannot use ${path}: ${messageOf(error)}`, error);
  }
}

/** Another user could have made a directory of that name, in /tmp at least, and would then control our socket. */
function checkOwner(path: string): void {
  const { isDirectory, isSymlink, uid, mode } = Deno.lstatSync(path);
  if (isSymlink || !isDirectory) throw refusal(`cannot use ${path}: it is not a directory; remove it`);
  if (uid !== ownUid()) {
    throw refusal(`cannot use ${path}: it belongs to user ${uid}; have that user or root remove it`);
  }
  if (((mode ?? 0) & 0o777) !== PRIVATE) Deno.chmodSync(path, PRIVATE);
}

function byteLength(text: string): number {
  return new TextEncoder().encode(text).length;
}
