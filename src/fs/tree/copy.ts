/**
 * `fs/copy`: one file, one link, or a tree.
 *
 * Links are copied as links. A single file follows a link at its destination, as writing does. Inside a tree nothing is
 * followed on either side, so a link swapped in on the way leads nowhere.
 */

import type { ByteString } from "../../os/files/byte_string.ts";
import { EEXIST, ELOOP, ENOENT, ENOTDIR, EROFS } from "../../os/errno.ts";
import {
  AT_FDCWD,
  AT_SYMLINK_NOFOLLOW,
  closeFd,
  O_DIRECTORY,
  O_PATH,
  O_RDONLY,
  openAt,
  type Place,
  readLinkAt,
  realPath,
  symlinkAt,
} from "../../os/files/file_calls.ts";
import { type FileStat, S_IFDIR, S_IFLNK, S_IFREG, statAt, statFd } from "../../os/files/file_stat.ts";
import { parentBytePath, ROOT, toBytePath } from "../byte_path.ts";
import { isInsideItself, isSpecial, needsRecursive } from "../copy_refusals.ts";
import { copyFile } from "./copy_file.ts";
import { createWithParents } from "../directories.ts";
import { allRecords, type DirectoryRecord, isPlaceholder } from "./directory_reader.ts";
import { DirectoryStack, openChildDirectory } from "./directory_stack.ts";
import type { CopyRequest } from "../file_system.ts";
import type { Slice } from "../../os/loop/pacer.ts";
import type { IoContext } from "../io_context.ts";
import { makeDirectory } from "../make_directory.ts";
import { must, OsError } from "../map_error.ts";

export async function copy(io: IoContext, request: CopyRequest, signal?: AbortSignal): Promise<void> {
  const from: Place = { directory: AT_FDCWD, path: toBytePath(request.sourcePath) };
  const to: Place = { directory: AT_FDCWD, path: toBytePath(request.destinationPath) };
  const stat = must(statAt(AT_FDCWD, from.path, AT_SYMLINK_NOFOLLOW));
  if (stat.type === S_IFLNK) return copyLink(from, to);
  if (stat.type === S_IFREG) return await copyFile(io, from, to, { mayFollow: true, signal });
  if (stat.type !== S_IFDIR) throw isSpecial();
  if (isPlaceholder(AT_FDCWD, from.path)) throw new OsError(ENOENT);
  if (!request.recursive) throw needsRecursive();
  await copyTree(io, from.path, to.path, signal);
}

function copyLink(from: Place, to: Place): void {
  const target: ByteString = must(readLinkAt(from.directory, from.path));
  must(symlinkAt(target, to));
}

async function copyTree(io: IoContext, from: ByteString, to: ByteString, signal?: AbortSignal): Promise<void> {
  const source = new DirectoryStack(must(openChildDirectory(AT_FDCWD, from)));
  let destination: DirectoryStack | undefined;
  try {
    const stat = must(statFd(source.current));
    if (leadsThrough(to, stat.identity)) throw isInsideItself();
    destination = new DirectoryStack(await openDestination(to, stat, io.pacer.slice(signal)));
    await new TreeCopy(io, source, destination, signal).run();
  } finally {
    source.close();
    destination?.close();
  }
}

/** Whether a path, or the nearest existing directory above it, is or lies in the directory with this identity. */
function leadsThrough(path: ByteString, identity: string): boolean {
  let existing = path;
  while (typeof statAt(AT_FDCWD, existing) === "number" && existing !== ROOT) existing = parentBytePath(existing);
  let fd = openDirectoryOf(existing);
  let below: string | undefined;
  while (fd >= 0) {
    const stat = statFd(fd);
    const own = typeof stat === "number" ? undefined : stat.identity;
    const parent = own === identity || own === below ? -1 : openAt(fd, ".." as ByteString, O_PATH | O_DIRECTORY);
    closeFd(fd);
    if (own === identity) return true;
    below = own;
    fd = parent;
  }
  return false;
}

/** A directory, or the one that a file is in. Returns a descriptor, or minus the error number. */
function openDirectoryOf(path: ByteString): number {
  const fd = openAt(AT_FDCWD, path, O_PATH | O_DIRECTORY);
  if (fd !== -ENOTDIR) return fd;
  const real = realPath(path);
  return typeof real === "number" ? real : openAt(AT_FDCWD, parentBytePath(real), O_PATH | O_DIRECTORY);
}

/**
 * New directories get the permissions of their originals. The owner's bits are always set, or nothing could be put in.
 */
function directoryMode(stat: FileStat): number {
  return (stat.mode & 0o777) | 0o700;
}

async function openDestination(path: ByteString, source: FileStat, slice: Slice): Promise<number> {
  await createWithParents(parentBytePath(path), slice);
  const made = makeDirectory(AT_FDCWD, path, directoryMode(source));
  const fd = openAt(AT_FDCWD, path, O_RDONLY | O_DIRECTORY);
  return made === -EROFS ? refuseReadOnly(fd) : must(fd < 0 && made < 0 ? made : fd);
}

/** A directory exists although none can be created there. This is how a placeholder looks inside its sandbox. */
function refuseReadOnly(fd: number): never {
  if (fd >= 0) closeFd(fd);
  throw new OsError(EROFS);
}

class TreeCopy {
  readonly #io: IoContext;
  readonly #source: DirectoryStack;
  readonly #destination: DirectoryStack;
  readonly #signal: AbortSignal | undefined;
  /** Identity of the destination. If the tree contained it, copying would never end. */
  readonly #destinationIdentity: string;

  constructor(io: IoContext, source: DirectoryStack, destination: DirectoryStack, signal: AbortSignal | undefined) {
    this.#io = io;
    this.#source = source;
    this.#destination = destination;
    this.#signal = signal;
    this.#destinationIdentity = must(statFd(destination.current)).identity;
  }

  async run(): Promise<void> {
    /** By level: names of directories that are still to be copied. */
    const levels: ByteString[][] = [await this.#copyFiles()];
    for (let names = levels.at(-1); names !== undefined; names = levels.at(-1)) {
      const name = names.pop();
      if (name !== undefined) {
        this.#enter(name);
        levels.push(await this.#copyFiles());
      } else {
        levels.pop();
        this.#source.leave();
        this.#destination.leave();
      }
    }
  }

  /** Copies everything in the current directory except directories, whose names it returns. */
  async #copyFiles(): Promise<ByteString[]> {
    const slice = this.#io.pacer.slice(this.#signal);
    const directories: ByteString[] = [];
    for (const record of await allRecords(this.#source.current, slice)) {
      const from: Place = { directory: this.#source.current, path: record.name };
      const to: Place = { directory: this.#destination.current, path: record.name };
      switch (typeOf(from, record)) {
        case "directory":
          directories.push(record.name);
          break;
        case "link":
          copyLink(from, to);
          break;
        case "file":
          await copyFile(this.#io, from, to, { mayFollow: false, signal: this.#signal });
          break;
        case "special":
          break; // Left out, as in the reference.
      }
      if (slice.isOver) await slice.rest();
    }
    return directories;
  }

  #enter(name: ByteString): void {
    this.#source.enter(must(openChildDirectory(this.#source.current, name)));
    const stat = must(statFd(this.#source.current));
    if (stat.identity === this.#destinationIdentity) throw isInsideItself();
    const made = makeDirectory(this.#destination.current, name, directoryMode(stat));
    const fd = openChildDirectory(this.#destination.current, name);
    if (fd === -ENOTDIR || fd === -ELOOP) throw new OsError(EEXIST); // A file or a link is in the way.
    this.#destination.enter(made === -EROFS ? refuseReadOnly(fd) : must(fd < 0 && made < 0 ? made : fd));
  }
}

function typeOf(place: Place, record: DirectoryRecord): "file" | "directory" | "link" | "special" {
  if (record.type !== "unknown") return record.type;
  switch (must(statAt(place.directory, place.path, AT_SYMLINK_NOFOLLOW)).type) {
    case S_IFREG:
      return "file";
    case S_IFDIR:
      return "directory";
    case S_IFLNK:
      return "link";
    default:
      return "special";
  }
}
