/**
 * Bytes as an open file that has no name anywhere: for handing a child what no other process should read.
 */

import { closeDescriptor, failure, O_RDONLY, openDescriptor } from "../descriptor.ts";
import { writeAt } from "./file_content.ts";
import { addressOf, type CBuffer, cString, lastErrno, libc } from "../libc.ts";

const SYS_MEMFD_CREATE = Deno.build.arch === "aarch64" ? 279n : 319n;
const MFD_CLOEXEC = 0x01n;
const MFD_ALLOW_SEALING = 0x02n;
/** Says that the file may be executed; some systems forbid it otherwise. Kernels before 6.3 do not know the flag. */
const MFD_EXEC = 0x10n;

const F_ADD_SEALS = 1033;
/** No further seals, no other length, no writing. */
const ALL_SEALS = 0x1 | 0x2 | 0x4 | 0x8;

/** What a list of open files shows. */
const name = cString("exec-server");

/** A read-only, close-on-exec descriptor at the start of these bytes, owned by the caller. */
export function openMemoryFile(bytes: CBuffer): number {
  const { readable, writable } = openMemoryPair();
  try {
    fillMemoryFile(writable, bytes);
    // A program that runs from it, or inherits it, could open it for writing by its link in `/proc`.
    if (libc().fcntl(writable, F_ADD_SEALS, ALL_SEALS) < 0) throw failure(lastErrno());
    return readable;
  } catch (error) {
    closeDescriptor(readable);
    throw error;
  } finally {
    // A file that somebody holds open for writing cannot be executed.
    closeDescriptor(writable);
  }
}

/** An empty file, opened twice: one descriptor to hand out, and one to fill the file with. Both close-on-exec. */
export function openMemoryPair(): { readonly readable: number; readonly writable: number } {
  const writable = createMemoryFile();
  const readable = openDescriptor(`/proc/self/fd/${writable}`, O_RDONLY);
  if (readable >= 0) return { readable, writable };
  const errno = lastErrno();
  closeDescriptor(writable);
  throw failure(errno);
}

/** Writes it whole, from the start. */
export function fillMemoryFile(writable: number, bytes: CBuffer): void {
  for (let written = 0; written < bytes.length;) {
    const count = writeAt(writable, bytes.subarray(written), written);
    if (count <= 0) throw failure(-count);
    written += count;
  }
}

function createMemoryFile(): number {
  const create = (flags: bigint): number => libc().syscall(SYS_MEMFD_CREATE, addressOf(name), flags, 0n, 0n);
  const flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  let fd = create(flags | MFD_EXEC);
  if (fd < 0) fd = create(flags);
  if (fd < 0) throw failure(lastErrno());
  return fd;
}
