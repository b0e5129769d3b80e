/**
 * `fs/walk`: a tree, breadth first, names of one directory in byte order.
 *
 * Bounded in every direction: depth, directories entered, names examined, bytes of the answer. What could not be told
 * for that reason is marked by `truncated`; a directory that cannot be read is told among the errors.
 */

import { invalidRequest } from "../errors.ts";
import type { ByteString } from "../os/byte_string.ts";
import { AT_FDCWD, AT_SYMLINK_NOFOLLOW, closeFd, O_DIRECTORY, O_NOFOLLOW, O_RDONLY, openAt } from "../os/file_calls.ts";
import { S_IFDIR, S_IFLNK, S_IFREG, statAt, statFd } from "../os/file_stat.ts";
import type { FsWalkParams, FsWalkResult } from "../protocol/fs.ts";
import { joinPath, toBytePath, uriOf } from "./byte_path.ts";
import { allRecords, type DirectoryRecord } from "./directory_reader.ts";
import type { WalkRequest } from "./file_system.ts";
import type { IoContext } from "./io_context.ts";
import {
  MAX_WALK_DEPTH,
  MAX_WALK_DIRECTORIES,
  MAX_WALK_ENTRIES,
  MAX_WALK_RESULT_BYTES,
  WALK_ITEM_BYTES,
} from "./limits.ts";
import { must, OsError } from "./map_error.ts";
import type { Slice } from "./pacer.ts";

export async function walk(io: IoContext, { path, options }: WalkRequest, signal?: AbortSignal): Promise<FsWalkResult> {
  checkLimits(options);
  const root = toBytePath(path);
  const tree = new Walk(options, io.pacer.slice(signal));
  const own = must(statAt(AT_FDCWD, root, AT_SYMLINK_NOFOLLOW));
  const stat = own.type === S_IFLNK ? must(statAt(AT_FDCWD, root)) : own;
  const isForbiddenLink = own.type === S_IFLNK && !options.followDirectorySymlinks;
  if (stat.type === S_IFDIR && !isForbiddenLink) await tree.run(root);
  return tree.result;
}

/** The texts are the reference's. */
function checkLimits({ maxDepth, maxDirectories, maxEntries }: FsWalkParams["options"]): void {
  if (maxDirectories === 0 || maxEntries === 0) {
    throw invalidRequest("filesystem walk limits must be greater than zero");
  }
  if (maxDepth > MAX_WALK_DEPTH || maxDirectories > MAX_WALK_DIRECTORIES || maxEntries > MAX_WALK_ENTRIES) {
    throw invalidRequest(
      `filesystem walk limits exceed maximums: depth=${MAX_WALK_DEPTH}, directories=${MAX_WALK_DIRECTORIES}, ` +
        `entries=${MAX_WALK_ENTRIES}`,
    );
  }
}

/** A directory that has been listed and is to be entered. */
interface Pending {
  readonly path: ByteString;
  readonly uri: string;
  readonly depth: number;
  /** The path's last component was a link when it was listed, and may be followed. */
  readonly isLink: boolean;
}

class Walk {
  readonly result: FsWalkResult = { entries: [], errors: [], truncated: false };
  readonly #options: FsWalkParams["options"];
  readonly #slice: Slice;
  readonly #pending: Pending[] = [];
  /** Identities of entered directories. Only links can lead to one twice. */
  readonly #entered = new Set<string>();
  #directories = 0;
  #names = 0;
  #resultBytes = 0;
  #isFull = false;

  constructor(options: FsWalkParams["options"], slice: Slice) {
    this.#options = options;
    this.#slice = slice;
  }

  async run(root: ByteString): Promise<void> {
    this.#pending.push({ path: root, uri: uriOf(root), depth: 0, isLink: true });
    // An index and not `shift`, which would move thousands of waiting directories each time.
    for (let next = 0; next < this.#pending.length && !this.#isFull; next++) {
      await this.#enter(this.#pending[next]!);
    }
  }

  async #enter(directory: Pending): Promise<void> {
    const flags = O_RDONLY | O_DIRECTORY | (directory.isLink ? 0 : O_NOFOLLOW);
    const fd = openAt(AT_FDCWD, directory.path, flags);
    if (fd < 0) return this.#fail(directory, new OsError(-fd));
    try {
      if (this.#options.followDirectorySymlinks && !this.#isFirstVisit(fd)) return;
      if (this.#directories === this.#options.maxDirectories) {
        this.result.truncated = true;
        return;
      }
      this.#directories++;
      const records = await allRecords(fd, this.#slice);
      records.sort((a, b) => (a.name < b.name ? -1 : 1));
      for (const record of records) {
        if (!this.#list(directory, fd, record)) return;
        if (this.#slice.isOverAtLast) await this.#slice.rest();
      }
    } catch (error) {
      if (!(error instanceof OsError)) throw error;
      this.#fail(directory, error);
    } finally {
      closeFd(fd);
    }
  }

  #isFirstVisit(fd: number): boolean {
    const { identity } = must(statFd(fd));
    if (this.#entered.has(identity)) return false;
    this.#entered.add(identity);
    return true;
  }

  /** False when nothing more may be listed. */
  #list(parent: Pending, fd: number, record: DirectoryRecord): boolean {
    const kind = this.#kindOf(fd, record);
    if (kind === null) return true;
    if (this.#names === this.#options.maxEntries) return this.#stop();
    this.#names++;
    if (kind === "other") return true;
    const uri = `${parent.uri}${parent.uri.endsWith("/") ? "" : "/"}${uriOf(record.name).slice("file://".length)}`;
    if (!this.#hasRoomFor(uri)) return this.#stop();
    this.result.entries.push({ path: uri, kind });
    if (kind === "directory" && this.#mayEnter(parent, record)) {
      this.#pending.push({
        path: joinPath(parent.path, record.name),
        uri,
        depth: parent.depth + 1,
        isLink: record.type !== "directory",
      });
    }
    return true;
  }

  #mayEnter(parent: Pending, { name }: DirectoryRecord): boolean {
    return parent.depth < this.#options.maxDepth &&
      !(this.#options.pruneHiddenDirectories && name.startsWith("."));
  }

  /**
   * `other` counts as examined and is not told: special files, and links unless they lead to a directory and may be
   * followed. Null for a name that leads to nothing, which does not even count.
   */
  #kindOf(fd: number, { name, type }: DirectoryRecord): "file" | "directory" | "other" | null {
    if (type === "file" || type === "directory") return type;
    if (type === "special") return "other";
    const stat = statAt(fd, name);
    if (typeof stat === "number") return null;
    if (type === "link" || isLink(fd, name)) {
      return stat.type === S_IFDIR && this.#options.followDirectorySymlinks ? "directory" : "other";
    }
    return stat.type === S_IFREG ? "file" : stat.type === S_IFDIR ? "directory" : "other";
  }

  #fail(directory: Pending, error: OsError): void {
    if (this.#hasRoomFor(directory.uri)) this.result.errors.push({ path: directory.uri, message: error.message });
    else this.#stop();
  }

  #hasRoomFor(uri: string): boolean {
    this.#resultBytes += uri.length + WALK_ITEM_BYTES;
    return this.#resultBytes <= MAX_WALK_RESULT_BYTES;
  }

  #stop(): false {
    this.#isFull = true;
    this.result.truncated = true;
    return false;
  }
}

function isLink(fd: number, name: ByteString): boolean {
  const stat = statAt(fd, name, AT_SYMLINK_NOFOLLOW);
  return typeof stat !== "number" && stat.type === S_IFLNK;
}
