/**
 * The filesystem interface on the operating system itself, with this program's rights.
 *
 * Paths and names are looked up on the event loop's thread, where a call takes about a microsecond. Content that is not
 * in memory, large writes and syncs go to other threads, and long operations work in slices. One weakness remains: a
 * lookup on a filesystem that does not answer (a dead network mount) makes the whole program wait.
 */

import { copy } from "./tree/copy.ts";
import { createDirectory, readDirectory } from "./directories.ts";
import { list } from "./list.ts";
import type { FileSystem } from "./file_system.ts";
import { createIoContext, type IoContext } from "./io_context.ts";
import { canonicalize, getMetadata } from "./metadata.ts";
import { chmod, rename, setTimes, symlink } from "./names.ts";
import { openFile } from "./open_file.ts";
import { readFile } from "./read_file.ts";
import { remove } from "./tree/remove.ts";
import { walk } from "./tree/walk.ts";
import { writeFile } from "./write_file.ts";

/** One instance serves all connections, so that their long operations share the event loop's time. */
export function createDirectFileSystem(io: IoContext = createIoContext()): FileSystem {
  // Wraps synchronous operations, so that every failure is a rejection.
  return {
    readFile: (request, sink, signal, large) => readFile(io, request, { sink, signal, large }),
    writeFile: (request) => writeFile(io, request),
    getMetadata: (request, signal) => getMetadata(io, request, signal),
    canonicalize: async (path) => await canonicalize(path),
    createDirectory: (request) => createDirectory(io, request),
    readDirectory: (path, signal) => readDirectory(io, path, signal),
    list: (path, signal) => list(io, path, signal),
    walk: (request, signal) => walk(io, request, signal),
    remove: (request, signal) => remove(io, request, signal),
    copy: (request, signal) => copy(io, request, signal),
    rename: (request) => rename(io, request),
    chmod: async (request) => await chmod(request),
    setTimes: async (request) => await setTimes(request),
    symlink: async (request) => await symlink(request),
    open: (request) => openFile(io, request),
  };
}
