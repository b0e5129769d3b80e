/**
 * What the filesystem family answers, and what is told unasked. Paths are `file:` URIs.
 *
 * The server uses the types alone, as with `process_results.ts`.
 */

import * as z from "zod/mini";
import type { ContentDigest } from "./fs.ts";
import { UnsignedInt } from "./primitives.ts";

export const FsReadFileResult = z.object({ dataBase64: z.string() });
export type FsReadFileResult = z.output<typeof FsReadFileResult>;

/** `sha256:` and 64 lower-case hex digits. */
const Digest = z.string().check(z.regex(/^sha256:[0-9a-f]{64}$/)) as unknown as z.ZodMiniType<ContentDigest, string>;

/** Everything describes what a link leads to, except `isSymlink`, which is about the path itself. */
export const FsGetMetadataResult = z.object({
  isDirectory: z.boolean(),
  isFile: z.boolean(),
  isSymlink: z.boolean(),
  size: UnsignedInt,
  /** 0 when the filesystem does not know. */
  createdAtMs: UnsignedInt,
  modifiedAtMs: UnsignedInt,
  mode: z.exactOptional(z.int()),
  uid: z.exactOptional(z.int()),
  gid: z.exactOptional(z.int()),
  nlink: z.exactOptional(z.int()),
  /** Decimal text: some filesystems use all 64 bits, which JSON numbers do not have. */
  inode: z.exactOptional(z.string()),
  /** Null for what is not a regular file. */
  digest: z.exactOptional(z.nullable(Digest)),
});
export type FsGetMetadataResult = z.output<typeof FsGetMetadataResult>;

export const FsCanonicalizeResult = z.object({ path: z.string() });
export type FsCanonicalizeResult = z.output<typeof FsCanonicalizeResult>;

/** Links are described by what they lead to. */
export const FsDirectoryEntry = z.object({
  /** Bytes that are not UTF-8 are replaced, as in the reference; `fs/walk` gives exact URIs. */
  fileName: z.string(),
  isDirectory: z.boolean(),
  isFile: z.boolean(),
});
export type FsDirectoryEntry = z.output<typeof FsDirectoryEntry>;

export const FsReadDirectoryResult = z.object({ entries: z.array(FsDirectoryEntry) });
export type FsReadDirectoryResult = z.output<typeof FsReadDirectoryResult>;

/** Ours. Links are described themselves. */
export const FsListEntry = z.object({
  /** Bytes that are not UTF-8 are replaced. */
  fileName: z.string(),
  kind: z.enum(["file", "directory", "symlink", "other"]),
  size: UnsignedInt,
  mode: z.int(),
  modifiedAtMs: UnsignedInt,
  uid: z.int(),
  gid: z.int(),
  nlink: z.int(),
  /** Where a link leads, as it is written in it. */
  target: z.exactOptional(z.string()),
});
export type FsListEntry = z.output<typeof FsListEntry>;

export const FsListResult = z.object({ entries: z.array(FsListEntry) });
export type FsListResult = z.output<typeof FsListResult>;

export const FsWalkEntry = z.object({ path: z.string(), kind: z.enum(["file", "directory"]) });
export type FsWalkEntry = z.output<typeof FsWalkEntry>;

export const FsWalkResult = z.object({
  entries: z.array(FsWalkEntry),
  errors: z.array(z.object({ path: z.string(), message: z.string() })),
  truncated: z.boolean(),
});
export type FsWalkResult = z.output<typeof FsWalkResult>;

export const FsOpenResult = z.object({ handleId: z.string() });
export type FsOpenResult = z.output<typeof FsOpenResult>;

export const FsReadBlockResult = z.object({
  /** Base64. */
  chunk: z.string(),
  /** Fewer bytes came than were asked for. */
  eof: z.boolean(),
});
export type FsReadBlockResult = z.output<typeof FsReadBlockResult>;

export const FsWatchMissingResult = z.object({ watching: z.boolean() });
export type FsWatchMissingResult = z.output<typeof FsWatchMissingResult>;

/** Once per watch: something appeared, or what was present changed. */
export const FsMissingChangedNotification = z.object({ watchId: z.int() });
export type FsMissingChangedNotification = z.output<typeof FsMissingChangedNotification>;

/**
 * - `created`, `modified`, `removed`: what became of the path since it was last told of, however many steps that took.
 *   A rename is a removal and a creation.
 * - `overflow`: changes below the path were missed; only looking again tells which.
 * - `unwatched`: the directory at the path cannot be watched (any more); changes below it are not told.
 */
export const FsChangeKind = z.enum(["created", "modified", "removed", "overflow", "unwatched"]);
export type FsChangeKind = z.output<typeof FsChangeKind>;

export const FsChange = z.object({ path: z.string(), kind: FsChangeKind });
export type FsChange = z.output<typeof FsChange>;

/** Ours. */
export const FsChangedNotification = z.object({ watchId: z.int(), changes: z.array(FsChange) });
export type FsChangedNotification = z.output<typeof FsChangedNotification>;
