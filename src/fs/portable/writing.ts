/**
 * `fs/writeFile` in place, also conditional, and `fs/open`, with the runtime's own functions.
 *
 * A conditional write holds the same advisory lock as servers with the C library, from before the content is digested
 * until it is written. So if several expect the same content, exactly one finds it. If a program ignores the lock, that
 * shows in the file's size and modification time. The runtime gives that time in whole milliseconds.
 */

import { internalError } from "../../errors.ts";
import { EEXIST, ENOENT } from "../../os/errno.ts";
import type { ContentDigest } from "../../protocol/fs.ts";
import { SET_ID_BITS } from "../content.ts";
import type { OpenFile, OpenRequest, WriteFileRequest } from "../file_system.ts";
import { HeldFile } from "../held_file.ts";
import { LOCK_RETRY_MS, LOCK_TIMEOUT_MS, MAX_READ_FILE_BYTES } from "../limits.ts";
import { ContentMismatchError, OsError, tooLarge } from "../map_error.ts";
import type { PortableContext } from "./context.ts";
import { textPath } from "./paths.ts";
import { cannotWriteAtomically } from "./refusals.ts";
import { followLinks, RuntimeFile } from "./runtime_file.ts";

/** Mode of a new file, before the umask. */
const NEW_FILE_MODE = 0o666;

/** Content that keeps changing during the digest is not what the caller has read. */
const MAX_DIGESTS = 8;

export async function writeFile(context: PortableContext, request: WriteFileRequest): Promise<void> {
  if (request.atomic) throw cannotWriteAtomically(context.reason);
  const path = await followLinks(context, textPath(request.path, context.reason));
  const mode = request.mode ?? NEW_FILE_MODE;
  await writeContent(context, path, mode, request);
  const { modifiedAtMs } = request;
  if (modifiedAtMs !== undefined && modifiedAtMs !== null) {
    await context.call(() => Deno.utime(path, new Date(), new Date(modifiedAtMs)));
  }
}

async function writeContent(
  context: PortableContext,
  path: string,
  mode: number,
  request: WriteFileRequest,
): Promise<void> {
  if (request.ifMatch === null) {
    const file = await RuntimeFile.open(context, path, { access: "write", mode, mayBeDevice: true });
    return await writeOver(file, request);
  }
  if (request.ifMatch === "absent") return await writeOver(await createAbsent(context, path, mode), request);
  await writeMatching(context, path, request, request.ifMatch);
}

async function writeOver(file: RuntimeFile, { data, mode }: WriteFileRequest): Promise<void> {
  try {
    const newMode = file.isDevice ? null : mode;
    if (newMode !== null) await file.chmod(newMode);
    await file.writeAt(data, 0);
    // Cut at the end and not emptied at the beginning, for the reason given in `write_file.ts`.
    if (!file.isDevice && (file.facts.size > data.length || data.length === 0)) await file.truncate(data.length);
    // Writing clears these bits again, unless we are root with all of root's capabilities.
    if (newMode !== null && (newMode & SET_ID_BITS) !== 0) await file.chmod(newMode);
  } catch (error) {
    file.drop();
    throw error;
  }
  await file.close();
}

async function createAbsent(context: PortableContext, path: string, mode: number): Promise<RuntimeFile> {
  try {
    return await RuntimeFile.open(context, path, { access: "create", mode });
  } catch (error) {
    if (!(error instanceof OsError) || error.errno !== EEXIST) throw error;
    throw new ContentMismatchError("absent", "exists");
  }
}

async function writeMatching(
  context: PortableContext,
  path: string,
  request: WriteFileRequest,
  expected: ContentDigest,
): Promise<void> {
  const file = await openExisting(context, path, expected);
  let lock: Deno.FsFile | null = null;
  try {
    lock = await lockFile(context, path, file, expected);
    await matchContent(file, expected);
  } catch (error) {
    lock?.close();
    file.drop();
    throw error;
  }
  try {
    await writeOver(file, request);
  } finally {
    lock.close();
  }
}

async function openExisting(context: PortableContext, path: string, expected: ContentDigest): Promise<RuntimeFile> {
  try {
    return await RuntimeFile.open(context, path, { access: "change" });
  } catch (error) {
    if (!(error instanceof OsError) || error.errno !== ENOENT) throw error;
    throw new ContentMismatchError(expected, "does not exist");
  }
}

/**
 * Waits for the file's advisory lock, which is held until the result is closed. The runtime can lock only files opened
 * with `Deno.open`. So the file is opened twice and must be the same both times.
 */
async function lockFile(
  context: PortableContext,
  path: string,
  file: RuntimeFile,
  expected: ContentDigest,
): Promise<Deno.FsFile> {
  // For reading and writing: if a fifo has taken the path, opening it like this does not wait.
  const lock = await context.call(() => Deno.open(path, { read: true, write: true }));
  try {
    const { dev, ino } = await context.call(() => lock.stat());
    if (!file.facts.identity.startsWith(`${dev}:${ino}:`)) {
      throw new ContentMismatchError(expected, "was replaced just now");
    }
    const deadline = context.clock.now() + LOCK_TIMEOUT_MS;
    // A failure means that this filesystem has no locks. Then the last look must be enough.
    while (await context.attempt(() => lock.tryLock(true)) === false) {
      if (context.clock.now() >= deadline) {
        throw internalError("Cannot write: another program holds a lock on the file");
      }
      await new Promise<void>((resolve) => void context.clock.setTimer(LOCK_RETRY_MS, resolve));
    }
    return lock;
  } catch (error) {
    lock.close();
    throw error;
  }
}

/** @throws {ContentMismatchError} unless the file has the expected content and had it while it was digested */
async function matchContent(file: RuntimeFile, expected: ContentDigest): Promise<void> {
  let before = await file.look();
  for (let digests = 0; digests < MAX_DIGESTS; digests++) {
    if (before.size > MAX_READ_FILE_BYTES) throw tooLarge();
    const actual = await file.digest();
    if (actual !== expected) throw new ContentMismatchError(expected, `has ${actual}`);
    const after = await file.look();
    if (after.version === before.version) return;
    before = after;
  }
  throw new ContentMismatchError(expected, "keeps changing");
}

export async function openFile(context: PortableContext, { path, mode }: OpenRequest): Promise<OpenFile> {
  const access = ({ read: "read", replace: "write", update: "update" } as const)[mode];
  const file = await RuntimeFile.open(context, await followLinks(context, textPath(path, context.reason)), { access });
  try {
    if (mode === "replace" && file.facts.size > 0) await file.truncate(0);
  } catch (error) {
    file.drop();
    throw error;
  }
  return new HeldFile({
    readBlock: async (offset, length) => {
      const bytes = new Uint8Array(length);
      const count = await file.readAt(bytes, offset);
      return count === length ? bytes : bytes.slice(0, count);
    },
    writeBlock: (offset, bytes) => file.writeAt(bytes, offset),
    close: () => file.close(),
  });
}
