/** `fs/open` on the operating system: one descriptor, read or written in blocks at any place and in any order. */

import { internalError } from "../errors.ts";
import { EINVAL } from "../os/errno.ts";
import { closeFd, O_CREAT, O_RDONLY, O_WRONLY } from "../os/file_calls.ts";
import { ReadTarget } from "../os/file_content.ts";
import { allocate } from "../os/libc.ts";
import { toBytePath } from "./byte_path.ts";
import { empty, openRegular, readNow, readOnPool, writeAll } from "./content.ts";
import type { OpenFile, OpenRequest } from "./file_system.ts";
import type { IoContext } from "./io_context.ts";
import { must, OsError } from "./map_error.ts";

/** File positions are signed in the kernel. */
const MAX_OFFSET = 2 ** 63 - 1;

const FLAGS = { read: O_RDONLY, replace: O_WRONLY | O_CREAT } as const;

export async function openFile(io: IoContext, { path, mode, followSymlinks }: OpenRequest): Promise<OpenFile> {
  const { fd, stat } = openRegular(toBytePath(path), { followSymlinks, flags: FLAGS[mode], mode: 0o666 });
  try {
    if (mode === "replace" && stat.size > 0) await empty(io, fd);
  } catch (error) {
    closeFd(fd);
    throw error;
  }
  return new DirectOpenFile(io, fd);
}

class DirectOpenFile implements OpenFile {
  readonly #io: IoContext;
  readonly #fd: number;
  /** Blocks under way. The descriptor stays open for them: its number would be given to another file at once. */
  #users = 0;
  #closing: Promise<void> | null = null;
  #allDone: (() => void) | null = null;

  constructor(io: IoContext, fd: number) {
    this.#io = io;
    this.#fd = fd;
  }

  readBlock(offset: number, length: number): Promise<Uint8Array<ArrayBuffer>> {
    return this.#use(async () => {
      if (offset >= MAX_OFFSET) throw new OsError(EINVAL);
      const target = new ReadTarget(allocate(length));
      let filled = 0;
      while (filled < length) {
        const part = target.bytes.subarray(filled);
        const count = readNow(this.#fd, target, part, offset + filled) ??
          await readOnPool(this.#io, this.#fd, part, offset + filled);
        if (count === 0) break;
        filled += count;
      }
      return filled === length ? target.bytes : target.bytes.slice(0, filled);
    });
  }

  writeBlock(offset: number, bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    return this.#use(() => writeAll(this.#io, this.#fd, bytes, offset));
  }

  close(): Promise<void> {
    return this.#closing ??= this.#close();
  }

  async #close(): Promise<void> {
    if (this.#users > 0) await new Promise<void>((resolve) => this.#allDone = resolve);
    must(closeFd(this.#fd));
  }

  async #use<Value>(work: () => Promise<Value>): Promise<Value> {
    if (this.#closing !== null) throw internalError("file handle is being closed");
    this.#users++;
    try {
      return await work();
    } finally {
      if (--this.#users === 0) this.#allDone?.();
    }
  }
}
