/**
 * The filesystem as the filesystem methods need it. One implementation calls the operating system; another asks a
 * confined process to do the same.
 *
 * Requests are plain data with all defaults filled in; results are plain data and bytes. Failures are domain errors:
 * "notFound" for what does not exist, "invalidRequest" for what is not allowed or makes no sense, "internal" for any
 * other refusal of the operating system, with its text.
 *
 * A signal says that nobody waits for the result any more. Reading operations then stop and reject with its reason. A
 * write that has begun is finished, because half a write would be worse.
 */

import type { ByteSource } from "../bytes.ts";
import type { NativePath } from "../path_uri.ts";
import type {
  FsChmodParams,
  FsCopyParams,
  FsCreateDirectoryParams,
  FsDirectoryEntry,
  FsGetMetadataParams,
  FsGetMetadataResult,
  FsListEntry,
  FsOpenParams,
  FsReadFileParams,
  FsRemoveParams,
  FsRenameParams,
  FsSetTimesParams,
  FsSymlinkParams,
  FsWalkParams,
  FsWalkResult,
  FsWriteFileParams,
} from "../protocol/fs.ts";

export type ReadFileRequest = Omit<FsReadFileParams, "sandbox">;
/** What is absent has its default. */
type Optional<Params, Names extends keyof Params> = Omit<Params, Names> & Partial<Pick<Params, Names>>;

export type WriteFileRequest = Optional<Omit<FsWriteFileParams, "sandbox">, "flush" | "modifiedAtMs">;
export type GetMetadataRequest = Omit<FsGetMetadataParams, "sandbox">;
export type CreateDirectoryRequest = Omit<FsCreateDirectoryParams, "sandbox">;
export type WalkRequest = Omit<FsWalkParams, "sandbox">;
export type RemoveRequest = Omit<FsRemoveParams, "sandbox">;
export type CopyRequest = Omit<FsCopyParams, "sandbox">;
export type RenameRequest = Optional<Omit<FsRenameParams, "sandbox">, "flush">;
export type ChmodRequest = Omit<FsChmodParams, "sandbox">;
export type SetTimesRequest = Omit<FsSetTimesParams, "sandbox">;
export type SymlinkRequest = Omit<FsSymlinkParams, "sandbox">;
export type OpenRequest = Omit<FsOpenParams, "sandbox" | "handleId">;

/**
 * Takes content in order. The array is only lent for the call. Every length except the last is a multiple of 3, so that
 * the base64 texts of the pieces can be joined.
 */
export type ByteSink = (piece: Uint8Array<ArrayBuffer>) => void;

/** For callers that pass content on and do not need it whole. */
export interface LargeContentReceiver {
  /**
   * Called before content of this many bytes, more than `SHORT_READ_BYTES`, is read. A returned promise means that
   * there is no room yet; no file is held open while waiting for it.
   */
  makeRoom(length: number): void | Promise<void>;
  /** Called before this many bytes come to the sink, if the content is large or longer than was known before. */
  makeRoomInMemory(bytes: number): void | Promise<void>;
  /** Takes the whole content instead of the sink. The array belongs to the receiver. */
  takeBytes(bytes: Uint8Array<ArrayBuffer>): void;
  /**
   * Takes content that can be read while it is passed on, instead of the sink. Its length stays what it was when the
   * read began. The source belongs to the receiver.
   */
  take(source: ByteSource): void;
}

/** Who gets the content of a file, and until when. */
export interface ContentReceivers {
  readonly sink: ByteSink;
  readonly signal?: AbortSignal | undefined;
  readonly large?: LargeContentReceiver | undefined;
}

export interface FileSystem {
  /**
   * The content of a regular file, at most `MAX_READ_FILE_BYTES`. An empty file gives nothing. A receiver for large
   * content gets large content, if the implementation can do that.
   */
  readFile(
    request: ReadFileRequest,
    sink: ByteSink,
    signal?: AbortSignal,
    large?: LargeContentReceiver,
  ): Promise<void>;
  writeFile(request: WriteFileRequest): Promise<void>;
  getMetadata(request: GetMetadataRequest, signal?: AbortSignal): Promise<FsGetMetadataResult>;
  /** The path without any links. */
  canonicalize(path: NativePath): Promise<NativePath>;

  createDirectory(request: CreateDirectoryRequest): Promise<void>;
  readDirectory(path: NativePath, signal?: AbortSignal): Promise<FsDirectoryEntry[]>;
  list(path: NativePath, signal?: AbortSignal): Promise<FsListEntry[]>;
  walk(request: WalkRequest, signal?: AbortSignal): Promise<FsWalkResult>;

  /** Stops between two files when nobody waits any more. */
  remove(request: RemoveRequest, signal?: AbortSignal): Promise<void>;
  /** Stops between two files, or two parts of a large one, when nobody waits any more. */
  copy(request: CopyRequest, signal?: AbortSignal): Promise<void>;
  rename(request: RenameRequest): Promise<void>;
  chmod(request: ChmodRequest): Promise<void>;
  setTimes(request: SetTimesRequest): Promise<void>;
  symlink(request: SymlinkRequest): Promise<void>;

  open(request: OpenRequest): Promise<OpenFile>;
}

/** A file held open. It stays the same file even if its name is removed. */
export interface OpenFile {
  /** `length` bytes from `offset` on, or less at the end of the file. The array belongs to the receiver. */
  readBlock(offset: number, length: number): Promise<Uint8Array<ArrayBuffer>>;
  writeBlock(offset: number, bytes: Uint8Array<ArrayBuffer>): Promise<void>;
  /** Waits for blocks under way. New blocks are refused at once. Closing again does nothing. */
  close(): Promise<void>;
}
