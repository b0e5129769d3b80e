/**
 * The null device as the input of a child that is confined and yet user 0. The host's own, opened as usual, would let
 * the child change its mode and owner by the descriptor. So it is opened through a read-only copy of its mount.
 */

import { closeDescriptor, O_RDONLY, openDescriptor } from "../descriptor.ts";
import { allocate, cString, libcFunctions } from "../libc.ts";

const SYS_OPEN_TREE = 428n;
const SYS_MOUNT_SETATTR = 442n;
const AT_FDCWD = -100;
const AT_EMPTY_PATH = 0x1000;
const OPEN_TREE_CLONE = 1;
const O_CLOEXEC = 0o2000000;
const MOUNT_ATTR_RDONLY = 1;
/** The size of `struct mount_attr`. */
const MOUNT_ATTR_BYTES = 32;

const mountFunctions = libcFunctions({
  openTree: { name: "syscall", parameters: ["i64", "i32", "buffer", "u32"], result: "i32" },
  setAttributes: { name: "syscall", parameters: ["i64", "i32", "buffer", "u32", "buffer", "usize"], result: "i32" },
});

/** Open for reading, and the caller's; null where the system does not let us make such a copy. */
export function openProtectedNullDevice(): number | null {
  const { openTree, setAttributes } = mountFunctions();
  const mount = openTree(SYS_OPEN_TREE, AT_FDCWD, cString("/dev/null"), OPEN_TREE_CLONE | O_CLOEXEC);
  if (mount < 0) return null;
  const attributes = allocate(MOUNT_ATTR_BYTES);
  attributes[0] = MOUNT_ATTR_RDONLY;
  const result = setAttributes(
    SYS_MOUNT_SETATTR,
    mount,
    cString(""),
    AT_EMPTY_PATH,
    attributes,
    BigInt(MOUNT_ATTR_BYTES),
  );
  const device = result < 0 ? -1 : openDescriptor(`/proc/self/fd/${mount}`, O_RDONLY);
  closeDescriptor(mount);
  return device < 0 ? null : device;
}
