/**
 * Where files lie on their filesystems, whichever mount shows them: a directory can be mounted in several places, and
 * what is written in one of them is there in all.
 *
 * A place is the filesystem's device and the path on it, as one text for which `isWithin` holds.
 */

import { toByteString } from "../../os/files/byte_string.ts";
import { AT_FDCWD } from "../../os/files/file_calls.ts";
import { statMountedAt } from "../../os/files/file_stat.ts";
import { type MountEntry, OwnMountTable } from "../../os/files/mount_table.ts";
import { isWithin } from "../../text_path.ts";

const ownTable = new OwnMountTable();

/** The same array for as long as nothing is mounted or unmounted. Null when that cannot be known. */
export function currentMounts(): readonly MountEntry[] | null {
  return ownTable.entries;
}

/** The place of an existing file or directory, by its path without links. Null when that cannot be told. */
export function placeOf(path: string, mounts: readonly MountEntry[]): string | null {
  const stat = statMountedAt(AT_FDCWD, toByteString(path));
  const mount = typeof stat === "number" ? undefined : mounts.find(({ id }) => id === stat.mountId);
  if (mount === undefined || !isWithin(path, mount.point)) return null;
  return placeOn(mount, mount.point === "/" ? path : path.slice(mount.point.length));
}

/** The places of everything that can be written below a path: its own, and where something else is mounted there. */
export function placesBelow(path: string, mounts: readonly MountEntry[]): string[] {
  const own = placeOf(path, mounts);
  const mounted = mounts.filter(({ isReadOnly, point }) => !isReadOnly && isWithin(point, path));
  return [...(own === null ? [] : [own]), ...mounted.map((mount) => placeOn(mount, ""))];
}

/** The roots of filesystems have no slash at their end, so that everything on them lies within. */
function placeOn({ device, root }: MountEntry, below: string): string {
  return device + `${root}${below}`.replace(/^\/+(?=\/|$)|\/+$/g, "");
}
