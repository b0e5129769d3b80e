/**
 * One open file, read and written with the runtime's descriptor functions. Every call takes a position. Opening takes
 * flags, which keep it from waiting for a fifo or a device.
 */

import fs from "node:fs";
import type { Hash } from "node:crypto";
import type { Bytes } from "../../bytes.ts";
import { EACCES, EINVAL, EIO, ELOOP, ENXIO } from "../../os/errno.ts";
import { S_IFCHR, S_IFLNK, S_IFREG } from "../../os/files/file_stat.ts";
import { ownUid } from "../../os/own_ids.ts";
import type { ContentDigest } from "../../protocol/fs.ts";
import { toByteString } from "../../os/files/byte_string.ts";
import type { PieceOptions as DirectPieceOptions } from "../content.ts";
import type { ByteSink } from "../file_system.ts";
import { MAX_OFFSET, MAX_READ_FILE_BYTES, PIECE_BYTES } from "../limits.ts";
import { notAFile, OsError, tooLarge } from "../map_error.ts";
import { MAX_LINKS } from "../open_path.ts";
import type { PortableContext } from "./context.ts";
import { factsOf, type FileFacts } from "./paths.ts";
import { toDomainError } from "./runtime_error.ts";
import { joinPath, parentPath } from "../../text_path.ts";

const { O_RDONLY, O_WRONLY, O_RDWR, O_CREAT, O_EXCL, O_NONBLOCK, O_NOCTTY } = fs.constants;

const FLAGS = {
  read: O_RDONLY,
  write: O_WRONLY | O_CREAT,
  create: O_WRONLY | O_CREAT | O_EXCL,
  update: O_WRONLY,
  change: O_RDWR,
};

/** Written on the event loop at a time. Takes about half a millisecond. */
const WRITE_PART_BYTES = 256 * 1024;

/** As in `content.ts`. */
type PieceOptions = Pick<DirectPieceOptions, "offset" | "maxBytes" | "signal" | "roomBytes" | "makeRoom">;

export interface OpenOptions {
  /**
   * `write` creates the file if it is missing. `create` fails if it exists. `update` never creates it. `change` is the
   * same, and can also read. None of them empties the file.
   */
  readonly access: keyof typeof FLAGS;
  /** Mode of a new file, before the umask. */
  readonly mode?: number;
  /** Devices like /dev/null take what they are given, as in the reference. */
  readonly mayBeDevice?: boolean;
}

export class RuntimeFile {
  readonly facts: FileFacts;
  readonly #context: PortableContext;
  readonly #fd: number;
  #isClosed = false;

  private constructor(context: PortableContext, fd: number, facts: FileFacts) {
    this.#context = context;
    this.#fd = fd;
    this.facts = facts;
  }

  /** Opens a regular file. A fifo or another device is refused without waiting for it. */
  static async open(context: PortableContext, path: string, options: OpenOptions): Promise<RuntimeFile> {
    const flags = FLAGS[options.access] | O_NONBLOCK | O_NOCTTY;
    let fd: number;
    try {
      fd = await context.call(() => promised<number>((done) => fs.open(path, flags, options.mode ?? 0o666, done)));
    } catch (error) {
      // A socket, a device without a driver, or a fifo that nobody reads.
      throw error instanceof OsError && error.errno === ENXIO ? notAFile(toByteString(path)) : error;
    }
    try {
      const file = new RuntimeFile(context, fd, await lookAt(context, fd));
      const { type } = file.facts;
      if (type !== S_IFREG && !(type === S_IFCHR && options.mayBeDevice === true)) throw notAFile(toByteString(path));
      return file;
    } catch (error) {
      fs.closeSync(fd);
      throw error;
    }
  }

  get isDevice(): boolean {
    return this.facts.type !== S_IFREG;
  }

  /** As it is now. */
  look(): Promise<FileFacts> {
    return lookAt(this.#context, this.#fd);
  }

  /** Fills the array from this position on, unless the file ends before. Returns the number of bytes. */
  async readAt(bytes: Bytes, offset: number): Promise<number> {
    if (offset >= MAX_OFFSET) throw new OsError(EINVAL);
    let filled = 0;
    while (filled < bytes.length) {
      const position = positionOf(offset + filled);
      const count = await this.#context.call(() =>
        promised<number>((done) => fs.read(this.#fd, bytes, filled, bytes.length - filled, position as number, done))
      );
      if (count === 0) break;
      filled += count;
    }
    return filled;
  }

  /** Hands the content to the sink until the end, in full pieces except the last. Returns the number of bytes. */
  async readPieces(sink: ByteSink, options: PieceOptions): Promise<number> {
    const { offset, maxBytes, signal, makeRoom } = options;
    let { roomBytes = Infinity } = options;
    const expected = Math.min(maxBytes, Math.max(0, this.facts.size - offset) + 1);
    const area = new Uint8Array(Math.min(PIECE_BYTES, Math.max(SMALL_PIECE_BYTES, Math.ceil(expected / 3) * 3)));
    const slice = this.#context.slice(signal);
    for (let total = 0;;) {
      signal?.throwIfAborted();
      const wanted = area.subarray(0, Math.min(area.length, maxBytes - total));
      const count = wanted.length === 0 ? 0 : await this.readAt(wanted, offset + total);
      total += count;
      if (total > roomBytes) {
        roomBytes = Infinity;
        await makeRoom?.();
      }
      if (count > 0) sink(wanted.subarray(0, count));
      if (count < area.length) return total;
      if (slice.isOver) await slice.rest();
    }
  }

  /** SHA-256 of the whole content. */
  async digest(signal?: AbortSignal): Promise<ContentDigest> {
    const { createHash } = await import("node:crypto");
    const hash: Hash = createHash("sha256");
    const total = await this.readPieces((piece) => hash.update(piece), {
      offset: 0,
      maxBytes: MAX_READ_FILE_BYTES + 1,
      signal,
    });
    if (total > MAX_READ_FILE_BYTES) throw tooLarge();
    return `sha256:${hash.digest("hex")}`;
  }

  /** A device has no positions and takes content in order. */
  async writeAt(bytes: Bytes, offset: number): Promise<void> {
    for (let written = 0; written < bytes.length;) {
      if (written > 0) await this.#context.rest();
      const length = Math.min(bytes.length - written, WRITE_PART_BYTES);
      const position = this.isDevice ? null : positionOf(offset + written);
      const count = attempt(() => fs.writeSync(this.#fd, bytes, written, length, position as number));
      if (count === 0) throw new OsError(EIO); // Cannot happen to a regular file; it would loop for ever.
      written += count;
    }
  }

  async truncate(size: number): Promise<void> {
    await this.#context.call(() => promised<void>((done) => fs.ftruncate(this.#fd, size, done)));
  }

  async chmod(mode: number): Promise<void> {
    await this.#context.call(() => promised<void>((done) => fs.fchmod(this.#fd, mode, done)));
  }

  /**
   * A network filesystem reports lost data now. Closing again does nothing: the number may be another file's by then.
   */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#context.call(() => promised<void>((done) => fs.close(this.#fd, done)));
  }

  /**
   * Closes without reporting errors: for a file that was only read, and after a failure, which is the error to report.
   */
  drop(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    try {
      fs.closeSync(this.#fd);
    } catch {
      // Nothing was written, or another failure is already being reported.
    }
  }
}

/** For files whose size says little. Less than a piece, and a multiple of 3. */
const SMALL_PIECE_BYTES = 48 * 1024;

/** Both bits: in this directory everybody may create names, and remove only their own. */
const STICKY_FOR_ALL = 0o1002;

/**
 * Follows links in the last component, so that the name found is not a link.
 *
 * The runtime resolves links itself before it opens a path. So the kernel cannot apply its rule for places like /tmp
 * (`fs.protected_symlinks`): only links of ours and of the directory's owner are followed there. The rule is applied
 * here, with a check before each use.
 */
export async function followLinks(context: PortableContext, path: string): Promise<string> {
  let current = path;
  for (let links = 0;; links++) {
    const facts = await context.lookIfThere(current);
    if (facts?.type !== S_IFLNK) return current;
    if (links === MAX_LINKS) throw new OsError(ELOOP);
    const place = await context.look(parentPath(current), "stat");
    const isForAll = (place.mode & STICKY_FOR_ALL) === STICKY_FOR_ALL;
    if (isForAll && facts.uid !== ownUid() && facts.uid !== place.uid) throw new OsError(EACCES);
    const link = current;
    const target = await context.call(() => Deno.readLink(link));
    current = target.startsWith("/") ? target : joinPath(parentPath(link), target);
  }
}

async function lookAt(context: PortableContext, fd: number): Promise<FileFacts> {
  const stats = await context.call(() => promised<fs.Stats>((done) => fs.fstat(fd, done)));
  return factsOf({ ...stats, modifiedAtMs: stats.mtimeMs, createdAtMs: stats.birthtimeMs });
}

/** The runtime takes positions beyond 2^53 only as big integers. */
function positionOf(offset: number): number | bigint {
  return Number.isSafeInteger(offset) ? offset : BigInt(offset);
}

function promised<Value>(
  call: (done: (error: NodeJS.ErrnoException | null, value?: Value) => void) => void,
): Promise<Value> {
  return new Promise((resolve, reject) => call((error, value) => error ? reject(error) : resolve(value as Value)));
}

function attempt<Value>(call: () => Value): Value {
  try {
    return call();
  } catch (error) {
    throw toDomainError(error);
  }
}
