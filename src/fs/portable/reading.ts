/**
 * `fs/readFile`, `fs/getMetadata`, `fs/canonicalize`, `fs/readDirectory` and `fs/list` with the runtime's own
 * functions.
 */

import { internalError } from "../../errors.ts";
import { EINVAL } from "../../os/errno.ts";
import { S_IFDIR, S_IFLNK, S_IFREG } from "../../os/files/file_stat.ts";
import type { NativePath } from "../../path_uri.ts";
import type { ContentDigest, FsDirectoryEntry, FsGetMetadataResult, FsListEntry } from "../../protocol/fs.ts";
import type { ContentReceivers, GetMetadataRequest, ReadFileRequest } from "../file_system.ts";
import {
  LARGE_READ_BYTES,
  MAX_DIRECTORY_ENTRIES,
  MAX_OFFSET,
  MAX_READ_FILE_BYTES,
  SHORT_READ_BYTES,
  UNKNOWN_LENGTH_BYTES,
} from "../limits.ts";
import { listKind, ListLength } from "../list.ts";
import { OsError, tooLarge } from "../map_error.ts";
import type { PortableContext } from "./context.ts";
import { type FileFacts, listDirectory, refusePlaceholder, textPath } from "./paths.ts";
import { cannotName, cannotTellInode } from "./refusals.ts";
import { followLinks, RuntimeFile } from "./runtime_file.ts";
import { RuntimeFileSource } from "./runtime_file_source.ts";
import { joinPath } from "../../text_path.ts";

export async function readFile(
  context: PortableContext,
  request: ReadFileRequest,
  { sink, signal, large }: ContentReceivers,
): Promise<void> {
  let file = await openRange(context, request);
  let isHandedOver = false;
  try {
    let expected = rangeOf(request, file.facts);
    const waiting = expected > SHORT_READ_BYTES ? large?.makeRoom(expected) : undefined;
    if (waiting !== undefined) {
      // No file is held open while waiting.
      file.drop();
      await waiting;
      signal?.throwIfAborted();
      file = await openRange(context, request);
      expected = rangeOf(request, file.facts);
    }
    if (large !== undefined && expected >= LARGE_READ_BYTES) {
      large.take(new RuntimeFileSource(file, request.offset, expected));
      isHandedOver = true;
      return;
    }
    // One byte more than allowed shows that the file has grown.
    const maxBytes = Math.min(request.length ?? Infinity, MAX_READ_FILE_BYTES + 1);
    const roomBytes = Math.max(expected, SHORT_READ_BYTES);
    const makeRoom = () => large?.makeRoomInMemory(Math.max(roomBytes, UNKNOWN_LENGTH_BYTES));
    const total = await file.readPieces(sink, { offset: request.offset, maxBytes, signal, roomBytes, makeRoom });
    if (total > MAX_READ_FILE_BYTES) throw tooLarge();
  } finally {
    if (!isHandedOver) file.drop();
  }
}

async function openRange(context: PortableContext, request: ReadFileRequest): Promise<RuntimeFile> {
  const path = await followLinks(context, textPath(request.path, context.reason));
  const file = await RuntimeFile.open(context, path, { access: "read" });
  if (request.offset < MAX_OFFSET && rangeOf(request, file.facts) <= MAX_READ_FILE_BYTES) return file;
  file.drop();
  throw request.offset < MAX_OFFSET ? tooLarge() : new OsError(EINVAL);
}

/** How much of the file is wanted and exists. */
function rangeOf({ offset, length }: ReadFileRequest, { size }: FileFacts): number {
  return Math.min(length ?? Infinity, Math.max(0, size - offset));
}

export async function getMetadata(
  context: PortableContext,
  request: GetMetadataRequest,
  signal?: AbortSignal,
): Promise<FsGetMetadataResult> {
  const path = textPath(request.path, context.reason);
  const own = await context.look(path);
  const isSymlink = own.type === S_IFLNK;
  const facts = isSymlink ? await context.look(path, "stat") : own;
  if (facts.type === S_IFDIR) {
    await refusePlaceholder(context, isSymlink ? await context.call(() => Deno.realPath(path)) : path);
  }
  if (!request.fields.includes("digest") || facts.type !== S_IFREG) return describe(context, request, facts, isSymlink);

  // All values are of the file that was digested, in case the name leads to another file meanwhile.
  const file = await RuntimeFile.open(context, await followLinks(context, path), { access: "read" });
  try {
    if (file.facts.size > MAX_READ_FILE_BYTES) throw tooLarge();
    const digest = await file.digest(signal);
    return describe(context, request, await file.look(), isSymlink, digest);
  } finally {
    file.drop();
  }
}

function describe(
  context: PortableContext,
  { fields }: GetMetadataRequest,
  facts: FileFacts,
  isSymlink: boolean,
  digest: ContentDigest | null = null,
): FsGetMetadataResult {
  const result: FsGetMetadataResult = {
    isDirectory: facts.type === S_IFDIR,
    isFile: facts.type === S_IFREG,
    isSymlink,
    size: facts.size,
    createdAtMs: facts.createdAtMs,
    modifiedAtMs: facts.modifiedAtMs,
  };
  if (fields.length === 0) return result;
  if (fields.includes("inode") && !Number.isSafeInteger(facts.inode)) throw cannotTellInode(context.reason);
  const { mode, uid, gid, links: nlink, inode } = facts;
  const additions = { mode, uid, gid, nlink, inode: String(inode), digest };
  return { ...result, ...Object.fromEntries(fields.map((field) => [field, additions[field]])) };
}

export async function canonicalize(context: PortableContext, path: NativePath): Promise<NativePath> {
  const real = await context.call(() => Deno.realPath(textPath(path, context.reason)));
  await refusePlaceholder(context, real);
  return real;
}

export async function readDirectory(
  context: PortableContext,
  native: NativePath,
  signal?: AbortSignal,
): Promise<FsDirectoryEntry[]> {
  const path = textPath(native, context.reason);
  await refusePlaceholder(context, path);
  const found = await listDirectory(context, path, signal);
  if (found.length > MAX_DIRECTORY_ENTRIES) {
    throw internalError(`directory has more than ${MAX_DIRECTORY_ENTRIES} entries`);
  }
  const entries: FsDirectoryEntry[] = [];
  for (const { name, type, isReachable } of found) {
    if (type !== "link") {
      entries.push({ fileName: name, isDirectory: type === "directory", isFile: type === "file" });
      continue;
    }
    if (!isReachable) throw cannotName(joinPath(path, name), context.reason);
    signal?.throwIfAborted();
    // A link that leads nowhere, or has disappeared, is left out.
    const facts = await context.lookIfThere(joinPath(path, name), "stat");
    if (facts === null) continue;
    entries.push({ fileName: name, isDirectory: facts.type === S_IFDIR, isFile: facts.type === S_IFREG });
  }
  return entries;
}

export async function list(context: PortableContext, native: NativePath, signal?: AbortSignal): Promise<FsListEntry[]> {
  const path = textPath(native, context.reason);
  await refusePlaceholder(context, path);
  const found = await listDirectory(context, path, signal);
  if (found.length > MAX_DIRECTORY_ENTRIES) {
    throw internalError(`directory has more than ${MAX_DIRECTORY_ENTRIES} entries`);
  }
  const entries: FsListEntry[] = [];
  const length = new ListLength();
  for (const { name, isReachable } of found) {
    const place = joinPath(path, name);
    if (!isReachable) throw cannotName(place, context.reason);
    signal?.throwIfAborted();
    const facts = await context.lookIfThere(place);
    if (facts === null) continue;
    const { type, size, mode, modifiedAtMs, uid, gid, links: nlink } = facts;
    const kind = listKind(type);
    const target = kind === "symlink" ? { target: await context.call(() => Deno.readLink(place)) } : {};
    const entry = { fileName: name, kind, size, mode, modifiedAtMs, uid, gid, nlink, ...target };
    length.add(entry);
    entries.push(entry);
  }
  return entries;
}
