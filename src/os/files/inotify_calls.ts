/** The calls behind `src/fs/watch/inotify.ts`. Results follow the kernel: not negative, or minus the error number. */

import { type ByteString, writeCString } from "./byte_string.ts";
import { ENAMETOOLONG } from "../errno.ts";
import { O_CLOEXEC, O_NONBLOCK } from "./file_calls.ts";
import { fileSymbols, firstPath, settle } from "./file_symbols.ts";
import type { CBuffer } from "../libc.ts";

/** A nonblocking descriptor that becomes readable when something watched through it changes. */
export function openInotify(): number {
  const { inotify_init1 } = fileSymbols();
  return settle(() => inotify_init1(O_CLOEXEC | O_NONBLOCK));
}

/** The watch's number. It is the same for the same inode, and the mask is replaced unless `mask` says to add. */
export function addInotifyWatch(inotify: number, path: ByteString, mask: number): number {
  if (!writeCString(path, firstPath)) return -ENAMETOOLONG;
  const { inotify_add_watch } = fileSymbols();
  return settle(() => inotify_add_watch(inotify, firstPath, mask));
}

export function removeInotifyWatch(inotify: number, watch: number): void {
  // Fails only when the kernel has already removed it, because the watched inode is gone.
  fileSymbols().inotify_rm_watch(inotify, watch);
}

/** Bytes of whole events; EAGAIN when there are none. */
export function readInotify(inotify: number, into: CBuffer): number {
  const { read } = fileSymbols();
  return settle(() => read(inotify, into, BigInt(into.length)));
}
