/**
 * What the filesystem methods need of a filesystem. One implementation works on the operating system directly; another
 * can ask a confined process to do the same.
 *
 * Requests are plain data with every default filled in; results are plain data and bytes. Failures are domain errors:
 * "notFound" for what does not exist, "invalidRequest" for what is not allowed or makes no sense, "internal" for any other
 * refusal of the operating system, whose text it carries.
 *
 * A signal says that nobody waits for the result any more. Reading operations then stop and reject with its reason; a
 * write that has begun is finished, because half of it would be worse.
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
  FsOpenParams,
  FsReadFileParams,
  FsRemoveParams,
  FsRenameParams,
  FsSymlinkParams,
  FsWalkParams,
  FsWalkResult,
  FsWriteFileParams,
} from "../protocol/fs.ts";

export type ReadFileRequest = Omit<FsReadFileParams, "sandbox">;
export type WriteFileRequest = Omit<FsWriteFileParams, "sandbox">;
export type GetMetadataRequest = Omit<FsGetMetadataParams, "sandbox">;
export type CreateDirectoryRequest = Omit<FsCreateDirectoryParams, "sandbox">;
export type WalkRequest = Omit<FsWalkParams, "sandbox">;
export type RemoveRequest = Omit<FsRemoveParams, "sandbox">;
export type CopyRequest = Omit<FsCopyParams, "sandbox">;
export type RenameRequest = Omit<FsRenameParams, "sandbox">;
export type ChmodRequest = Omit<FsChmodParams, "sandbox">;
export type SymlinkRequest = Omit<FsSymlinkParams, "sandbox">;
export type OpenRequest = Omit<FsOpenParams, "sandbox" | "handleId">;

/**
 * Takes content in order. The array is only lent for the duration of the call. Every length but the last is a multiple
 * of 3, so that the pieces' base64 texts can be put one behind the other.
 */
export type ByteSink = (piece: Uint8Array<ArrayBuffer>) => void;

/** For whoever passes content on and need not have it whole. */
export interface LargeContentReceiver {
  /** Called before `LARGE_READ_BYTES` or more are read. Resolves when there is room for them. */
  makeRoom(): Promise<void>;
  /**
   * Takes content that can be read while it is passed on, instead of the sink. It stays as long as it was when the read
   * began; the source belongs to the receiver.
   */
  take(source: ByteSource): void;
}

export interface FileSystem {
  /**
   * The content of a regular file, at most `MAX_READ_FILE_BYTES` of it. Nothing comes for an empty one. With a receiver
   * for large content that gets what is large, where the implementation can do so.
   */
  readFile(
    request: ReadFileRequest,
    sink: ByteSink,
    signal?: AbortSignal,
    large?: LargeContentReceiver,
  ): Promise<void>;
  writeFile(request: WriteFileRequest): Promise<void>;
  getMetadata(request: GetMetadataRequest, signal?: AbortSignal): Promise<FsGetMetadataResult>;
  /** The path without any link. */
  canonicalize(path: NativePath): Promise<NativePath>;

  createDirectory(request: CreateDirectoryRequest): Promise<void>;
  readDirectory(path: NativePath, signal?: AbortSignal): Promise<FsDirectoryEntry[]>;
  walk(request: WalkRequest, signal?: AbortSignal): Promise<FsWalkResult>;

  /** Stops between two files when nobody waits any more. */
  remove(request: RemoveRequest, signal?: AbortSignal): Promise<void>;
  /** Stops between two files, or two parts of a large one, when nobody waits any more. */
  copy(request: CopyRequest, signal?: AbortSignal): Promise<void>;
  rename(request: RenameRequest): Promise<void>;
  chmod(request: ChmodRequest): Promise<void>;
  symlink(request: SymlinkRequest): Promise<void>;

  open(request: OpenRequest): Promise<OpenFile>;
}

/** A file held open. It stays the same file when its name is taken away. */
export interface OpenFile {
  /** `length` bytes from `offset` on, or what there is until the end. The array belongs to the receiver. */
  readBlock(offset: number, length: number): Promise<Uint8Array<ArrayBuffer>>;
  writeBlock(offset: number, bytes: Uint8Array<ArrayBuffer>): Promise<void>;
  /** Waits for blocks under way. Further blocks are refused at once; closing again does nothing. */
  close(): Promise<void>;
}
