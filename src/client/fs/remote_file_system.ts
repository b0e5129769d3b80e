/**
 * The filesystem of the box behind the server's own interface: the third implementation of `FileSystem`, beside the
 * direct and the confined one, with the same contract. Requests hold only what differs from the defaults, so that older
 * servers understand them. Failures are `ServerError`s. Their codes stand for the kinds of domain errors.
 *
 * `box.fs` is built on it, and adds streams, watches and whole trees.
 */

// The type alone: none of the server's code comes along.
import type * as fs from "../../fs/file_system.ts";
import { type NativePath, parsePath, toFileUri } from "../../path_uri.ts";
import { ERROR_CODES } from "../../protocol/error_codes.ts";
import type { FsDirectoryEntry, FsGetMetadataResult, FsListEntry, FsWalkResult } from "../../protocol/fs_results.ts";
import { MAX_FRAME_BYTES } from "../../protocol/limits.ts";
import type { MethodName, MethodTypes } from "../../protocol/method_types.ts";
import { decodeBase64, encodeBase64 } from "../base64.ts";
import { abortedBy, AbortedError, ServerError } from "../errors.ts";
import type { Session } from "../session/session.ts";

type FileMethod = Extract<MethodName, `fs/${string}`>;

/** What all operations of one view share. */
export interface FileView {
  /** The operations do only what it allows. */
  readonly sandbox?: unknown;
  /** Gives up waiting. */
  readonly signal?: AbortSignal | undefined;
}

/** How much a sink is given at once: a multiple of 3. */
const PIECE_BYTES = 192 * 1024;
/** Content of one message: its base64 fits into a frame, with room for the rest of the request. */
const MAX_MESSAGE_CONTENT_BYTES = (MAX_FRAME_BYTES - 256 * 1024) / 4 * 3;
/** How much of longer content is written at once. */
const BLOCK_BYTES = 256 * 1024;

/** See the head of the module. */
export class RemoteFileSystem implements fs.FileSystem {
  readonly #session: Session;
  readonly #sandbox: { readonly sandbox?: unknown };
  readonly #signal: AbortSignal | undefined;

  /** The files of the session's box, used with the options of the view. */
  constructor(session: Session, { sandbox, signal }: FileView = {}) {
    this.#session = session;
    this.#sandbox = sandbox === undefined ? {} : { sandbox };
    this.#signal = signal;
  }

  // ---------------------------------------------------------------- files

  /** Everything in one message. Only servers hand content over piece by piece. */
  async readFile(
    request: fs.ReadFileRequest,
    sink: fs.ByteSink,
    signal?: AbortSignal,
    large?: fs.LargeContentReceiver,
  ): Promise<void> {
    if (large !== undefined) {
      throw new ServerError(
        "fs/readFile",
        ERROR_CODES.invalidRequest,
        "cannot stream content from a remote filesystem: read the file whole, or use open()",
      );
    }
    const bytes = await this.content(request, signal);
    for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
      if (signal?.aborted) throw abortedBy(signal, "fs/readFile");
      sink(bytes.subarray(at, at + PIECE_BYTES));
    }
  }

  /** The same as one array, which belongs to the caller. */
  async content(
    { path, followSymlinks, offset, length }: fs.ReadFileRequest,
    signal?: AbortSignal,
  ): Promise<Uint8Array<ArrayBuffer>> {
    const params = {
      path: uriOf(path),
      ...links(followSymlinks),
      ...(offset === 0 ? {} : { offset }),
      ...(length === null ? {} : { length }),
    };
    const { dataBase64 } = await this.#ask("fs/readFile", params, signal);
    return decodeBase64(dataBase64);
  }

  async writeFile(request: fs.WriteFileRequest): Promise<void> {
    const { path, data, followSymlinks, atomic, breakHardLinks, ifMatch, mode, flush, modifiedAtMs } = request;
    if (data.length > MAX_MESSAGE_CONTENT_BYTES) return await this.#writeLong(request);
    await this.#ask("fs/writeFile", {
      path: uriOf(path),
      dataBase64: encodeBase64(data),
      ...links(followSymlinks),
      ...(atomic ? { atomic } : {}),
      ...(breakHardLinks ? { breakHardLinks } : {}),
      ...(ifMatch === null ? {} : { ifMatch }),
      ...(mode === null ? {} : { mode }),
      ...(flush === undefined || flush ? {} : { flush }),
      ...(modifiedAtMs === undefined || modifiedAtMs === null ? {} : { modifiedAtMs }),
    });
  }

  /** Block by block, in place. */
  async #writeLong(request: fs.WriteFileRequest): Promise<void> {
    const { path, data, followSymlinks, atomic, ifMatch, mode, modifiedAtMs } = request;
    if (atomic || ifMatch !== null) {
      const message =
        `cannot write ${data.length} bytes at once: at most ${MAX_MESSAGE_CONTENT_BYTES} fit into a message`;
      throw new ServerError("fs/writeFile", ERROR_CODES.invalidRequest, message);
    }
    const file = await this.open({ path, mode: "replace", followSymlinks });
    try {
      for (let at = 0; at < data.length; at += BLOCK_BYTES) {
        await file.writeBlock(at, data.subarray(at, at + BLOCK_BYTES));
      }
    } finally {
      await file.close();
    }
    if (mode !== null) await this.chmod({ path, mode, followSymlinks });
    if (typeof modifiedAtMs === "number") await this.setTimes({ path, modifiedAtMs, followSymlinks });
  }

  async open({ path, mode, followSymlinks }: fs.OpenRequest): Promise<fs.OpenFile> {
    // The server takes 32 characters.
    const handleId = crypto.randomUUID().replaceAll("-", "");
    await this.#ask("fs/open", { handleId, path: uriOf(path), mode, ...links(followSymlinks) });
    return new RemoteFile(this.#session, handleId);
  }

  // ---------------------------------------------------------------- looking

  async getMetadata(
    { path, followSymlinks, fields }: fs.GetMetadataRequest,
    signal?: AbortSignal,
  ): Promise<FsGetMetadataResult> {
    const wanted = fields.length === 0 ? {} : { fields: [...fields] };
    return await this.#ask("fs/getMetadata", { path: uriOf(path), ...links(followSymlinks), ...wanted }, signal);
  }

  async canonicalize(path: NativePath): Promise<NativePath> {
    const result = await this.#ask("fs/canonicalize", { path: uriOf(path) });
    return parsePath(result.path).native;
  }

  async readDirectory(path: NativePath, signal?: AbortSignal): Promise<FsDirectoryEntry[]> {
    return (await this.#ask("fs/readDirectory", { path: uriOf(path) }, signal)).entries;
  }

  async list(path: NativePath, signal?: AbortSignal): Promise<FsListEntry[]> {
    return (await this.#ask("fs/list", { path: uriOf(path) }, signal)).entries;
  }

  async walk({ path, options }: fs.WalkRequest, signal?: AbortSignal): Promise<FsWalkResult> {
    return await this.#ask("fs/walk", { path: uriOf(path), options }, signal);
  }

  // ---------------------------------------------------------------- changing names

  async createDirectory({ path, recursive, followSymlinks }: fs.CreateDirectoryRequest): Promise<void> {
    await this.#ask("fs/createDirectory", { path: uriOf(path), recursive, ...links(followSymlinks) });
  }

  async remove({ path, recursive, force, followSymlinks }: fs.RemoveRequest, signal?: AbortSignal): Promise<void> {
    await this.#ask("fs/remove", { path: uriOf(path), recursive, force, ...links(followSymlinks) }, signal);
  }

  async copy(request: fs.CopyRequest, signal?: AbortSignal): Promise<void> {
    await this.#ask("fs/copy", { ...pathsOf(request), recursive: request.recursive }, signal);
  }

  async rename(request: fs.RenameRequest): Promise<void> {
    const { overwrite, flush } = request;
    await this.#ask("fs/rename", { ...pathsOf(request), overwrite, ...(flush === true ? { flush } : {}) });
  }

  async chmod({ path, mode, followSymlinks }: fs.ChmodRequest): Promise<void> {
    await this.#ask("fs/chmod", { path: uriOf(path), mode, ...links(followSymlinks) });
  }

  async setTimes({ path, modifiedAtMs, followSymlinks }: fs.SetTimesRequest): Promise<void> {
    await this.#ask("fs/setTimes", { path: uriOf(path), modifiedAtMs, ...links(followSymlinks) });
  }

  /** A target that is given as bytes is not UTF-8. Only a URI can express it, and a URI is always absolute. */
  async symlink({ path, target }: fs.SymlinkRequest): Promise<void> {
    const link = typeof target === "string" ? target : uriOf(target);
    await this.#ask("fs/symlink", { path: uriOf(path), target: link });
  }

  async #ask<Name extends FileMethod>(
    method: Name,
    params: MethodTypes[Name]["params"],
    signal?: AbortSignal,
  ): Promise<MethodTypes[Name]["result"]> {
    const options = { signal: signal ?? this.#signal };
    try {
      return await this.#session.call(method, { ...params, ...this.#sandbox }, options);
    } catch (error) {
      // If the signal of one operation is aborted, its reason is thrown, as in the other implementations.
      if (signal?.aborted && error instanceof AbortedError) throw signal.reason;
      throw error;
    }
  }
}

/** A file held open for as long as the connection lives. `readStream` and `writeStream` of a box outlive it. */
class RemoteFile implements fs.OpenFile {
  readonly #session: Session;
  readonly #handleId: string;
  #closing: Promise<void> | null = null;

  constructor(session: Session, handleId: string) {
    this.#session = session;
    this.#handleId = handleId;
  }

  async readBlock(offset: number, length: number): Promise<Uint8Array<ArrayBuffer>> {
    this.#requireOpen("fs/readBlock");
    const params = { handleId: this.#handleId, offset, len: length };
    return decodeBase64((await this.#session.call("fs/readBlock", params)).chunk);
  }

  async writeBlock(offset: number, bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    this.#requireOpen("fs/writeBlock");
    await this.#session.call("fs/writeBlock", { handleId: this.#handleId, offset, chunk: encodeBase64(bytes) });
  }

  async close(): Promise<void> {
    this.#closing ??= this.#session.call("fs/close", { handleId: this.#handleId }).then(() => {});
    await this.#closing;
  }

  #requireOpen(method: string): void {
    if (this.#closing !== null) throw new ServerError(method, ERROR_CODES.internal, "the file is closed");
  }
}

/** A URI stays as it is: the server decides what it means. */
function uriOf(path: NativePath): string {
  return typeof path === "string" && /^file:/i.test(path) ? path : toFileUri(path);
}

/** Links are followed unless it is said. */
function links(followSymlinks: boolean): { followSymlinks?: false } {
  return followSymlinks ? {} : { followSymlinks };
}

function pathsOf({ sourcePath, destinationPath }: fs.CopyRequest | fs.RenameRequest) {
  return { sourcePath: uriOf(sourcePath), destinationPath: uriOf(destinationPath) };
}
