/**
 * The filesystem interface with the runtime's own functions, where the C library cannot be called: without
 * `--allow-ffi`, and on systems other than Linux.
 *
 * It answers as `direct.ts` does, or refuses what it cannot promise (`refusals.ts`): paths without links, atomic
 * writes, names that are not UTF-8. The file system contract runs on both.
 */

import { type Clock, systemClock } from "../../clock.ts";
import type { FileSystem } from "../file_system.ts";
import { PortableContext } from "./context.ts";
import { copy } from "./copy.ts";
import { chmod, createDirectory, remove, rename, setTimes, symlink } from "./names.ts";
import { canonicalize, getMetadata, list, readDirectory, readFile } from "./reading.ts";
import { cannotExcludeLinks } from "./refusals.ts";
import { walk } from "./walk.ts";
import { openFile, writeFile } from "./writing.ts";

/** `reason` is why the C library is not used; it ends the text of every refusal. */
export function createPortableFileSystem(options: { reason: string; clock?: Clock }): FileSystem {
  const { reason, clock = systemClock } = options;
  const context = new PortableContext({ reason, clock });
  /** Only operations that may follow links are done. */
  const following = async <Request extends { followSymlinks: boolean }, Value>(
    request: Request,
    work: (context: PortableContext, request: Request) => Promise<Value>,
  ): Promise<Value> => {
    if (!request.followSymlinks) throw cannotExcludeLinks(reason);
    return await work(context, request);
  };
  return {
    readFile: (request, sink, signal, large) =>
      following(request, () => readFile(context, request, { sink, signal, large })),
    writeFile: (request) => following(request, writeFile),
    getMetadata: (request, signal) => following(request, () => getMetadata(context, request, signal)),
    canonicalize: (path) => canonicalize(context, path),
    createDirectory: (request) => following(request, createDirectory),
    readDirectory: (path, signal) => readDirectory(context, path, signal),
    list: (path, signal) => list(context, path, signal),
    walk: (request, signal) => walk(context, request, signal),
    remove: (request) => following(request, remove),
    copy: (request, signal) => copy(context, request, signal),
    rename: (request) => rename(context, request),
    chmod: (request) => following(request, chmod),
    setTimes: (request) => following(request, setTimes),
    symlink: (request) => symlink(context, request),
    open: (request) => following(request, openFile),
  };
}
