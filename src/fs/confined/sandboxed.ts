/**
 * The filesystem interface, carried out by a helper that a policy confines. The kernel decides what is refused.
 *
 * If a policy makes everything readable, reading need not wait for a helper (`confined_reader.ts`). If a helper is
 * lost, operations that only read are asked again. Writes are not, since they may have been done.
 *
 * More than 300 lines: one short method for each method of the interface, and one place that handles a lost helper.
 */

import type { ByteSource } from "../../bytes.ts";
import { DomainError, internalError } from "../../errors.ts";
import { PathAppearedError } from "../../launch/policy/placeholders.ts";
import { accessTo, type FilePolicy, readsEverything } from "../../launch/policy/policy.ts";
import { EACCES, EBUSY, EEXIST, EISDIR, ENOTDIR, EPERM, EROFS, EXDEV } from "../../os/errno.ts";
import type { NativePath } from "../../path_uri.ts";
import type { FsDirectoryEntry, FsGetMetadataResult, FsListEntry, FsWalkResult } from "../../protocol/fs.ts";
import type {
  ByteSink,
  ChmodRequest,
  CopyRequest,
  CreateDirectoryRequest,
  FileSystem,
  GetMetadataRequest,
  LargeContentReceiver,
  OpenFile,
  OpenRequest,
  ReadFileRequest,
  RemoveRequest,
  RenameRequest,
  SetTimesRequest,
  SymlinkRequest,
  WalkRequest,
  WriteFileRequest,
} from "../file_system.ts";
import type { ConfinedReader } from "./confined_reader.ts";
import { type CallAnswer, type CallOptions, type HelperClient, HelperLostError } from "./helper_client.ts";
import type { HelperOwner, HelperPool } from "./helper_pool.ts";
import { type Operation, type ReadFileOutcome, readFileOutcome, type ReadFileRoom } from "./helper_protocol.ts";
import { HelperSource } from "./helper_source.ts";
import { LARGE_READ_BYTES, MAX_READ_FILE_BYTES, SHORT_READ_BYTES } from "../limits.ts";
import { OsError, tooLarge } from "../map_error.ts";
import { isWithin } from "../../text_path.ts";

export interface SandboxedFilesOptions {
  readonly pool: HelperPool;
  readonly owner: HelperOwner;
  /** Made for the disk as it is now. */
  readonly policy: FilePolicy;
  /** Makes the policy again after the disk has changed. */
  renew(): Promise<FilePolicy>;
  /** For reading under a policy that makes everything readable. */
  readonly reader: ConfinedReader;
}

/** A policy is outdated only if a program creates a protected path in the millisecond after it was looked at. */
const MAX_POLICIES = 5;

/** What may be asked again without harm. `open` for reading may too. */
const READING: ReadonlySet<Operation> = new Set([
  "readFile",
  "getMetadata",
  "canonicalize",
  "readDirectory",
  "list",
  "walk",
]);

/** Where a sandbox has its own files, and the host's must not be read instead. */
const OWN_PLACES = ["/proc", "/dev"];

/** Whether a path without links may be read without a helper. */
export function mayReadDirectly(policy: FilePolicy, path: NativePath): boolean {
  if (typeof path !== "string" || OWN_PLACES.some((place) => isWithin(path, place))) return false;
  return readsEverything(policy);
}

/** What a helper is asked to do: the facts that matter if it fails. */
interface Errand {
  /** The helper is kept for a file that stays open. */
  readonly holds?: true;
  readonly operation: Operation;
  readonly params: unknown;
  readonly isReading: boolean;
  mayRepeat(): boolean;
}

export class SandboxedFileSystem implements FileSystem {
  readonly #options: SandboxedFilesOptions;

  constructor(options: SandboxedFilesOptions) {
    this.#options = options;
  }

  async readFile(
    request: ReadFileRequest,
    sink: ByteSink,
    signal?: AbortSignal,
    large?: LargeContentReceiver,
  ): Promise<void> {
    let hasBegun = false;
    const counting: ByteSink = (piece) => {
      hasBegun = true;
      sink(piece);
    };
    const read = (reader: ConfinedReader) => reader.readFile(request, counting, signal, large);
    if (await this.#directly(request.path, read, () => !hasBegun) !== null) return;
    const options = { sink: counting, signal };
    const first = large === undefined ? Number.MAX_SAFE_INTEGER : SHORT_READ_BYTES;
    let room: ReadFileRoom = { roomBytes: first, memoryBytes: first };
    for (;;) {
      const outcome = await this.#readByHelper({ ...request, ...room }, options, () => !hasBegun);
      if (outcome === null) return;
      if (outcome instanceof HelperSource) {
        if (large !== undefined) large.take(outcome);
        else await drain(outcome, sink, signal);
        return;
      }
      // The length was found without reading the content.
      const { needsRoom, inMemory } = outcome;
      if (needsRoom > MAX_READ_FILE_BYTES) throw tooLarge();
      await (inMemory ? large?.makeRoomInMemory(needsRoom) : large?.makeRoom(needsRoom));
      const memoryBytes = inMemory || needsRoom < LARGE_READ_BYTES ? needsRoom : room.memoryBytes;
      room = { roomBytes: Math.max(room.roomBytes, needsRoom), memoryBytes };
    }
  }

  /** Null: the content has been delivered. */
  async #readByHelper(
    params: ReadFileRequest & ReadFileRoom,
    options: CallOptions,
    mayRepeat: () => boolean,
  ): Promise<HelperSource | Extract<ReadFileOutcome, { needsRoom: number }> | null> {
    const errand = { operation: "readFile", params, isReading: true, mayRepeat } as const;
    return await this.#withHelper(errand, async (client) => {
      const { result } = await client.call("readFile", params, options);
      const outcome = readFileOutcome(result);
      if (outcome === null || "needsRoom" in outcome) return outcome;
      const describe = (error: unknown) => error instanceof HelperLostError ? helperLost("readFile", error) : error;
      return new HelperSource({ client, ...outcome, describe });
    });
  }

  async writeFile({ data, ...request }: WriteFileRequest): Promise<void> {
    await this.#ask("writeFile", request, { body: data });
  }

  async getMetadata(request: GetMetadataRequest, signal?: AbortSignal): Promise<FsGetMetadataResult> {
    const found = await this.#directly(request.path, (reader) => reader.getMetadata(request, signal));
    return found?.value ?? await this.#result("getMetadata", request, { signal });
  }

  canonicalize(path: NativePath): Promise<NativePath> {
    return this.#result("canonicalize", path);
  }

  async createDirectory(request: CreateDirectoryRequest): Promise<void> {
    await this.#ask("createDirectory", request);
    const { path } = request;
    // A denied path is covered by a directory too, so the helper may find one there. But the client could not have
    // created it.
    const isCovered = this.#options.policy.missing.some((place) => place.isHidden && place.path === path);
    if (isCovered) throw new OsError(EROFS);
  }

  readDirectory(path: NativePath, signal?: AbortSignal): Promise<FsDirectoryEntry[]> {
    return this.#result("readDirectory", path, { signal });
  }

  list(path: NativePath, signal?: AbortSignal): Promise<FsListEntry[]> {
    return this.#result("list", path, { signal });
  }

  walk(request: WalkRequest, signal?: AbortSignal): Promise<FsWalkResult> {
    return this.#result("walk", request, { signal });
  }

  async remove(request: RemoveRequest, signal?: AbortSignal): Promise<void> {
    await this.#ask("remove", request, { signal });
  }

  async copy(request: CopyRequest, signal?: AbortSignal): Promise<void> {
    await this.#ask("copy", request, { signal });
  }

  async rename(request: RenameRequest): Promise<void> {
    await this.#ask("rename", request);
  }

  async chmod(request: ChmodRequest): Promise<void> {
    await this.#ask("chmod", request);
  }

  async setTimes(request: SetTimesRequest): Promise<void> {
    await this.#ask("setTimes", request);
  }

  async symlink(request: SymlinkRequest): Promise<void> {
    await this.#ask("symlink", request);
  }

  async open(request: OpenRequest): Promise<OpenFile> {
    if (request.mode === "read") {
      const opened = await this.#directly(request.path, (reader) => reader.openToRead(request));
      if (opened !== null) return opened.value;
    }
    const isReading = request.mode === "read";
    const errand = { operation: "open", params: request, isReading, mayRepeat: () => true, holds: true } as const;
    return await this.#withHelper(errand, async (client) => {
      // Counted first: the helper must not be ended between its answer and ours.
      client.fileOpened();
      try {
        const { result } = await client.call("open", request);
        return new HelperOpenFile(client, result as number);
      } catch (error) {
        client.fileClosed();
        throw error;
      }
    });
  }

  /**
   * Reads without a helper where the result is the same: the policy makes everything readable, and a sandbox has no
   * files of its own at that place. Null: ask a helper (also to learn why the direct read failed).
   */
  async #directly<Value>(
    path: NativePath,
    read: (reader: ConfinedReader) => Promise<Value>,
    mayGoOn = () => true,
  ): Promise<{ value: Value } | null> {
    if (!mayReadDirectly(this.#options.policy, path)) return null;
    try {
      return { value: await read(this.#options.reader) };
    } catch (error) {
      if (!(error instanceof DomainError) || !mayGoOn()) throw error;
      return null;
    }
  }

  async #result<Value>(operation: Operation, params: unknown, options?: CallOptions): Promise<Value> {
    return (await this.#ask(operation, params, options)).result as Value;
  }

  #ask(operation: Operation, params: unknown, options?: CallOptions, mayRepeat = () => true): Promise<CallAnswer> {
    const isReading = READING.has(operation);
    const call = (client: HelperClient) => client.call(operation, params, options);
    return this.#withHelper({ operation, params, isReading, mayRepeat }, call);
  }

  async #withHelper<Value>(
    { operation, params, isReading, mayRepeat, holds }: Errand,
    work: (client: HelperClient) => Promise<Value>,
  ): Promise<Value> {
    const { pool, owner, renew } = this.#options;
    let { policy } = this.#options;
    let hasLostOne = false;
    for (let attempt = 1;; attempt++) {
      try {
        return await (holds ? pool.hold(owner, policy, work) : pool.use(owner, policy, work));
      } catch (error) {
        if (error instanceof OsError) throw isReading ? error : deniedWrite(error, policy, params);
        if (error instanceof HelperLostError) {
          if (!isReading) throw outcomeUnknown(operation, error);
          if (hasLostOne || !mayRepeat()) throw helperLost(operation, error);
          hasLostOne = true;
        } else if (!(error instanceof PathAppearedError) || attempt === MAX_POLICIES) throw error;
      }
      policy = await renew();
    }
  }
}

/** A file that a helper holds open. It is lost with the helper. */
class HelperOpenFile implements OpenFile {
  readonly #client: HelperClient;
  readonly #handle: number;
  #closing: Promise<void> | null = null;

  constructor(client: HelperClient, handle: number) {
    this.#client = client;
    this.#handle = handle;
  }

  async readBlock(offset: number, length: number): Promise<Uint8Array<ArrayBuffer>> {
    return (await this.#call("readBlock", { offset, length })).body;
  }

  async writeBlock(offset: number, bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    await this.#call("writeBlock", { offset }, bytes);
  }

  close(): Promise<void> {
    return this.#closing ??= this.#close();
  }

  async #close(): Promise<void> {
    try {
      await this.#client.call("close", { handle: this.#handle });
    } catch (error) {
      // A helper that is gone has closed its files.
      if (!(error instanceof HelperLostError)) throw error;
    } finally {
      this.#client.fileClosed();
    }
  }

  async #call(operation: Operation, place: object, body?: Uint8Array<ArrayBuffer>): Promise<CallAnswer> {
    if (this.#closing !== null) throw internalError("file handle is being closed");
    const options = body === undefined ? {} : { body };
    try {
      return await this.#client.call(operation, { handle: this.#handle, ...place }, options);
    } catch (error) {
      if (!(error instanceof HelperLostError)) throw error;
      throw operation === "writeBlock" ? outcomeUnknown(operation, error) : helperLost(operation, error);
    }
  }
}

/** The errors with which a read-only path may refuse a write. */
const REFUSALS: ReadonlySet<number> = new Set([EACCES, EPERM]);

/**
 * The errors that a write may get at a path where nothing may be created. Such a path is covered by an empty directory
 * or file, and by a mount.
 */
const COVER_REFUSALS: ReadonlySet<number> = new Set([...REFUSALS, EBUSY, EEXIST, EISDIR, ENOTDIR, EXDEV]);

/**
 * A refused write to a path that may only be read gets the same error whatever refused it. Mounts say that they are
 * read-only; Landlock and the system call filter say that a permission is missing. The same goes for a write to a path
 * where nothing may be created: for the client nothing is there, neither a directory nor a busy mount.
 */
function deniedWrite(error: OsError, policy: FilePolicy, params: unknown): OsError {
  if (!COVER_REFUSALS.has(error.errno) || typeof params !== "object" || params === null) return error;
  const { path, destinationPath } = params as { path?: unknown; destinationPath?: unknown };
  const target = destinationPath ?? path;
  if (typeof target !== "string") return error;
  const isReadOnly = (REFUSALS.has(error.errno) && accessTo(policy, target) === "read") ||
    policy.missing.some((place) => isWithin(target, place.path));
  return isReadOnly ? new OsError(EROFS) : error;
}

/** For callers that want all of the content at once. Stops when they have gone. */
async function drain(source: ByteSource, sink: ByteSink, signal: AbortSignal | undefined): Promise<void> {
  try {
    for (let piece = await source.next(); piece !== null; piece = await source.next()) {
      sink(piece as Uint8Array<ArrayBuffer>);
      signal?.throwIfAborted();
    }
  } finally {
    source.close();
  }
}

function outcomeUnknown(operation: Operation, cause: HelperLostError): Error {
  const why = cause.message;
  return internalError(`Cannot tell whether ${operation} was done, its outcome is unknown: ${why}`, cause);
}

function helperLost(operation: Operation, cause: HelperLostError): Error {
  return internalError(`Cannot finish ${operation} in its sandbox: ${cause.message}`, cause);
}
