/**
 * The filesystem interface by asking a helper that is confined by a policy: the kernel decides what is refused.
 *
 * Where a policy lets everything be read, and a path holds no link that could lead elsewhere, reading needs no helper.
 * Should a helper be lost, what only reads is asked again; what writes is not, since it may have been done.
 */

import { DomainError, internalError } from "../errors.ts";
import { isWithin } from "../launch/host_tree.ts";
import { PathAppearedError } from "../launch/placeholders.ts";
import { accessTo, type FilePolicy, readsEverything } from "../launch/policy.ts";
import { EACCES, EBUSY, EEXIST, EISDIR, ENOTDIR, EPERM, EROFS, EXDEV } from "../os/errno.ts";
import type { NativePath } from "../path_uri.ts";
import type { FsDirectoryEntry, FsGetMetadataResult, FsWalkResult } from "../protocol/fs.ts";
import type {
  ByteSink,
  ChmodRequest,
  CopyRequest,
  CreateDirectoryRequest,
  FileSystem,
  GetMetadataRequest,
  OpenFile,
  OpenRequest,
  ReadFileRequest,
  RemoveRequest,
  RenameRequest,
  SymlinkRequest,
  WalkRequest,
  WriteFileRequest,
} from "./file_system.ts";
import { type CallAnswer, type CallOptions, type HelperClient, HelperLostError } from "./helper_client.ts";
import type { HelperOwner, HelperPool } from "./helper_pool.ts";
import type { Operation } from "./helper_protocol.ts";
import { OsError } from "./map_error.ts";

export interface SandboxedFilesOptions {
  readonly pool: HelperPool;
  readonly owner: HelperOwner;
  /** Made for the disk as it is now. */
  readonly policy: FilePolicy;
  /** Makes the policy again, when the disk has changed. */
  renew(): Promise<FilePolicy>;
  /** For reading where nothing is confined. */
  readonly direct: FileSystem;
}

/** A policy is outdated only by somebody who makes a protected path in the millisecond after it was looked at. */
const MAX_POLICIES = 5;

/** What may be asked again without harm. `open` for reading is, too. */
const READING: ReadonlySet<Operation> = new Set([
  "readFile",
  "getMetadata",
  "canonicalize",
  "readDirectory",
  "walk",
]);

/** Where a sandbox has its own, and the host's must not be read instead. */
const OWN_PLACES = ["/proc", "/dev"];

/** Whether a path, if it holds no link, may be read without a helper. */
export function mayReadDirectly(policy: FilePolicy, path: NativePath): boolean {
  if (typeof path !== "string" || OWN_PLACES.some((place) => isWithin(path, place))) return false;
  return readsEverything(policy);
}

/** What a helper is asked to do, as far as it matters when that fails. */
interface Errand {
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

  async readFile(request: ReadFileRequest, sink: ByteSink, signal?: AbortSignal): Promise<void> {
    let hasBegun = false;
    const counting: ByteSink = (piece) => {
      hasBegun = true;
      sink(piece);
    };
    const read = (files: FileSystem) => files.readFile({ ...request, followSymlinks: false }, counting, signal);
    if (await this.#directly(request.path, read, () => !hasBegun) !== null) return;
    await this.#ask("readFile", request, { sink: counting, signal }, () => !hasBegun);
  }

  async writeFile({ data, ...request }: WriteFileRequest): Promise<void> {
    await this.#ask("writeFile", request, { body: data });
  }

  async getMetadata(request: GetMetadataRequest, signal?: AbortSignal): Promise<FsGetMetadataResult> {
    const look = (files: FileSystem) => files.getMetadata({ ...request, followSymlinks: false }, signal);
    const found = await this.#directly(request.path, look);
    return found?.value ?? await this.#result("getMetadata", request, { signal });
  }

  canonicalize(path: NativePath): Promise<NativePath> {
    return this.#result("canonicalize", path);
  }

  async createDirectory(request: CreateDirectoryRequest): Promise<void> {
    await this.#ask("createDirectory", request);
    const { path } = request;
    // What covers a denied place is a directory as well, but not one that could be made.
    const isCovered = this.#options.policy.missing.some((place) => place.isHidden && place.path === path);
    if (isCovered) throw new OsError(EROFS);
  }

  readDirectory(path: NativePath, signal?: AbortSignal): Promise<FsDirectoryEntry[]> {
    return this.#result("readDirectory", path, { signal });
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

  async symlink(request: SymlinkRequest): Promise<void> {
    await this.#ask("symlink", request);
  }

  async open(request: OpenRequest): Promise<OpenFile> {
    if (request.mode === "read") {
      const open = (files: FileSystem) => files.open({ ...request, followSymlinks: false });
      const opened = await this.#directly(request.path, open);
      if (opened !== null) return opened.value;
    }
    const isReading = request.mode === "read";
    const errand = { operation: "open", params: request, isReading, mayRepeat: () => true } as const;
    return await this.#withHelper(errand, async (client) => {
      // Counted first: the helper must not be let go between its answer and ours.
      client.fileOpened();
      try {
        const { result } = await client.call("open", withoutSandbox(request));
        return new HelperOpenFile(client, result as number);
      } catch (error) {
        client.fileClosed();
        throw error;
      }
    });
  }

  /**
   * Reads without a helper, where nothing would be confined: the policy lets everything be read, the place is not one of
   * which a sandbox has its own, and no link is on the way. Null when it takes a helper, be it to learn why it failed.
   */
  async #directly<Value>(
    path: NativePath,
    read: (files: FileSystem) => Promise<Value>,
    mayGoOn = () => true,
  ): Promise<{ value: Value } | null> {
    if (!mayReadDirectly(this.#options.policy, path)) return null;
    try {
      return { value: await read(this.#options.direct) };
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
    const asked = withoutSandbox(params);
    const call = (client: HelperClient) => client.call(operation, asked, options);
    return this.#withHelper({ operation, params, isReading, mayRepeat }, call);
  }

  async #withHelper<Value>(
    { operation, params, isReading, mayRepeat }: Errand,
    work: (client: HelperClient) => Promise<Value>,
  ): Promise<Value> {
    const { pool, owner, renew } = this.#options;
    let { policy } = this.#options;
    let hasLostOne = false;
    for (let attempt = 1;; attempt++) {
      try {
        return await pool.use(owner, policy, work);
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

/** How a place that is read-only may refuse a write. */
const REFUSALS: ReadonlySet<number> = new Set([EACCES, EPERM]);

/** How a place in which nothing may be made may refuse: it is covered by an empty directory or file, and a mount. */
const COVER_REFUSALS: ReadonlySet<number> = new Set([...REFUSALS, EBUSY, EEXIST, EISDIR, ENOTDIR, EXDEV]);

/**
 * A refused write to a place the policy lets only be read is told in the same words, whatever refused it: mounts say that
 * they are read-only, Landlock and the system call filter that a permission is lacking. So is a write to where nothing
 * may be made: to the client there is nothing, neither a directory in the way nor one that is busy.
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

/** Requests may still have the object this filesystem was made from; the helper has no use for it. */
function withoutSandbox(params: unknown): unknown {
  if (typeof params !== "object" || params === null || !Object.hasOwn(params, "sandbox")) return params;
  const { sandbox: _, ...rest } = params as Record<string, unknown>;
  return rest;
}

function outcomeUnknown(operation: Operation, cause: HelperLostError): Error {
  const why = cause.message;
  return internalError(`Cannot tell whether ${operation} was done, its outcome is unknown: ${why}`, cause);
}

function helperLost(operation: Operation, cause: HelperLostError): Error {
  return internalError(`Cannot finish ${operation} in its sandbox: ${cause.message}`, cause);
}
