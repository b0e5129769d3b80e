/** `fs/open` on the operating system: one descriptor, read or written in blocks at any place and in any order. */

import { EINVAL } from "../os/errno.ts";
import { closeFd, O_CREAT, O_RDONLY, O_WRONLY } from "../os/files/file_calls.ts";
import { ReadTarget } from "../os/files/file_content.ts";
import { allocate } from "../os/libc.ts";
import { toBytePath } from "./byte_path.ts";
import { empty, openRegular, readNow, readOnPool, writeAll } from "./content.ts";
import type { OpenFile, OpenRequest } from "./file_system.ts";
import { HeldFile } from "./held_file.ts";
import type { IoContext } from "./io_context.ts";
import { MAX_OFFSET } from "./limits.ts";
import { must, OsError } from "./map_error.ts";

const FLAGS = { read: O_RDONLY, replace: O_WRONLY | O_CREAT, update: O_WRONLY } as const;

export async function openFile(io: IoContext, { path, mode, followSymlinks }: OpenRequest): Promise<OpenFile> {
  const { fd, stat } = openRegular(
    toBytePath(path),
    { followSymlinks, flags: FLAGS[mode], mode: 0o666 },
    io.guardOpen,
  );
  try {
    if (mode === "replace" && stat.size > 0) await empty(io, fd);
  } catch (error) {
    closeFd(fd);
    throw error;
  }
  return new HeldFile({
    readBlock: (offset, length) => readBlock(io, fd, offset, length),
    writeBlock: (offset, bytes) => writeAll(io, fd, bytes, offset),
    close: () => void must(closeFd(fd)),
  });
}

async function readBlock(
  io: IoContext,
  fd: number,
  offset: number,
  length: number,
): Promise<Uint8Array<ArrayBuffer>> {
  if (offset >= MAX_OFFSET) throw new OsError(EINVAL);
  const target = new ReadTarget(allocate(length));
  let filled = 0;
  while (filled < length) {
    const part = target.bytes.subarray(filled);
    const count = readNow(fd, target, part, offset + filled) ?? await readOnPool(io, fd, part, offset + filled);
    if (count === 0) break;
    filled += count;
  }
  return filled === length ? target.bytes : target.bytes.slice(0, filled);
}
