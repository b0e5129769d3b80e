/** A filesystem that is chosen anew at each use, for permissions that depend on the disk. */

import type { FileSystem } from "../file_system.ts";

/** `find` rejects with the error to answer when there is none. */
export function deferredFileSystem(find: () => Promise<FileSystem>): FileSystem {
  return {
    readFile: async (request, sink, signal, large) => await (await find()).readFile(request, sink, signal, large),
    writeFile: async (request) => await (await find()).writeFile(request),
    getMetadata: async (request, signal) => await (await find()).getMetadata(request, signal),
    canonicalize: async (path) => await (await find()).canonicalize(path),
    createDirectory: async (request) => await (await find()).createDirectory(request),
    readDirectory: async (path, signal) => await (await find()).readDirectory(path, signal),
    list: async (path, signal) => await (await find()).list(path, signal),
    walk: async (request, signal) => await (await find()).walk(request, signal),
    remove: async (request, signal) => await (await find()).remove(request, signal),
    copy: async (request, signal) => await (await find()).copy(request, signal),
    rename: async (request) => await (await find()).rename(request),
    chmod: async (request) => await (await find()).chmod(request),
    setTimes: async (request) => await (await find()).setTimes(request),
    symlink: async (request) => await (await find()).symlink(request),
    open: async (request) => await (await find()).open(request),
  };
}
