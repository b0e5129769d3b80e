/**
 * What this program lacks to make any sandbox at all, known before anything is tried: the C library, or a permission of
 * the runtime. Other obstacles (a temporary directory that is missing, no bubblewrap) are found by trying.
 */

import { whyNoLibc } from "../os/libc_access.ts";
import { temporaryDirectory } from "./scratch_directory.ts";

/** What sandboxes need of the runtime: to look at the disk, to know the user, and a directory to be tried in. */
const needed = (): readonly (readonly [Deno.PermissionDescriptor, flag: string])[] => [
  [{ name: "read" }, "--allow-read"],
  [{ name: "sys", kind: "uid" }, "--allow-sys"],
  [{ name: "write", path: temporaryDirectory() }, "--allow-write"],
];

/** For people; null when nothing is missing. Does not change while the program runs. */
export function sandboxObstacle(): string | null {
  const missing = needed().find(([permission]) => Deno.permissions.querySync(permission).state !== "granted");
  return whyNoLibc() ?? (missing === undefined ? null : `this server runs without ${missing[1]}`);
}
