/**
 * The filesystem interface on the operating system itself, with the rights this program has.
 *
 * Paths are resolved and names are looked up on the event loop's thread, where a call takes about a microsecond; content
 * that is not in memory, large writes and syncs are left to other threads; long operations work in slices. What remains
 * is that a lookup on a filesystem that does not answer (a dead network mount) makes the whole program wait for it.
 */

import { copy } from "./copy.ts";
import { createDirectory, readDirectory } from "./directories.ts";
import type { FileSystem } from "./file_system.ts";
import { createIoContext, type IoContext } from "./io_context.ts";
import { canonicalize, getMetadata } from "./metadata.ts";
import { chmod, rename, symlink } from "./names.ts";
import { openFile } from "./open_file.ts";
import { readFile } from "./read_file.ts";
import { remove } from "./remove.ts";
import { walk } from "./walk.ts";
import { writeFile } from "./write_file.ts";

/** One serves all connections, so that their long operations share the event loop's time. */
export function createDirectFileSystem(io: IoContext = createIoContext()): FileSystem {
  // Synchronous operations are wrapped so that every failure is a rejection.
  return {
    readFile: (request, sink, signal, large) => readFile(io, request, { sink, signal, large }),
    writeFile: (request) => writeFile(io, request),
    getMetadata: (request, signal) => getMetadata(io, request, signal),
    canonicalize: async (path) => await canonicalize(path),
    createDirectory: async (request) => await createDirectory(request),
    readDirectory: (path, signal) => readDirectory(io, path, signal),
    walk: (request, signal) => walk(io, request, signal),
    remove: (request, signal) => remove(io, request, signal),
    copy: (request, signal) => copy(io, request, signal),
    rename: async (request) => await rename(request),
    chmod: async (request) => await chmod(request),
    symlink: async (request) => await symlink(request),
    open: (request) => openFile(io, request),
  };
}
