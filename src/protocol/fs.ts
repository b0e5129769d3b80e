/**
 * The wire forms of the filesystem family: what each method takes and answers, and what is told unasked.
 *
 * Schemas decode: paths come out as native paths, base64 as bytes, and what was left out as its default, so that the
 * output of a schema is what the filesystem layer takes. Unknown fields are ignored, since other versions exist. Fields
 * and methods marked "ours" are extensions that clients of the reference never meet.
 */

import * as z from "zod";
import { invalidRequest } from "../errors.ts";
import { ForeignPathError, type NativePath, parsePath } from "../path_uri.ts";
import { decodeBase64 } from "./base64.ts";
import { AbsolutePath, Base64Bytes, oneOf, UnsignedInt } from "./primitives.ts";
import { SandboxField } from "./process.ts";

// ---------------------------------------------------------------- fields

const Path = AbsolutePath.transform(({ native }): NativePath => native);

const flag = (whenAbsent: boolean) => z.boolean().nullish().transform((value): boolean => value ?? whenAbsent);

/** False: no component of the path may be a link. */
const FollowSymlinks = flag(true);

/** Permission, set-id and sticky bits. */
const Mode = z.int().min(0).max(0o7777);

const DIGEST = /^sha256:[0-9a-f]{64}$/;

/** `sha256:` and 64 lower-case hex digits. */
export type ContentDigest = `sha256:${string}`;

/** What a conditional write expects to find: content with this digest, or no file at all. */
const IfMatch = z.string().refine((text): text is ContentDigest | "absent" => text === "absent" || DIGEST.test(text), {
  error: "ifMatch must be `absent` or `sha256:` followed by 64 lower-case hex digits",
});

// ---------------------------------------------------------------- files

export const FsReadFileParams = z.object({
  path: Path,
  followSymlinks: FollowSymlinks,
  /** Ours. Where to begin; beyond the end there is nothing, which is no error. */
  offset: UnsignedInt.nullish().transform((offset): number => offset ?? 0),
  /** Ours. How much at most; null is all the rest. */
  length: UnsignedInt.nullish().transform((length): number | null => length ?? null),
  sandbox: SandboxField,
});
export type FsReadFileParams = z.output<typeof FsReadFileParams>;

export interface FsReadFileResult {
  dataBase64: string;
}

export const FsWriteFileParams = z.object({
  path: Path,
  dataBase64: z.string(),
  followSymlinks: FollowSymlinks,
  /** Ours. Readers see the old content or the new, never a part; the new one is on the device when this is answered. */
  atomic: flag(false),
  /** Ours. Lets an atomic write give the path a file of its own when the old one has other names too. */
  breakHardLinks: flag(false),
  /** Ours. Write only if the file is still what the caller has read. */
  ifMatch: IfMatch.nullish().transform((ifMatch): ContentDigest | "absent" | null => ifMatch ?? null),
  /** Ours. The mode the file has afterwards, whatever the umask; null keeps it, or takes the usual for a new file. */
  mode: Mode.nullish().transform((mode): number | null => mode ?? null),
  sandbox: SandboxField,
}).transform(({ dataBase64, ...params }) => {
  // Thrown past zod, once all else has decoded: this one field's syntax is an invalid request and not invalid parameters.
  const data = decodeBase64(dataBase64);
  if (data === null) throw invalidRequest("fs/writeFile requires valid base64 dataBase64");
  return { ...params, data };
});
export type FsWriteFileParams = z.output<typeof FsWriteFileParams>;

/** Names for `fields` of `fs/getMetadata`. */
export const METADATA_FIELDS = ["mode", "uid", "gid", "nlink", "inode", "digest"] as const;
export type MetadataField = typeof METADATA_FIELDS[number];

export const FsGetMetadataParams = z.object({
  path: Path,
  followSymlinks: FollowSymlinks,
  /** Ours. What to answer besides; names from `METADATA_FIELDS`, others are ignored so that newer ones can be asked for. */
  fields: z.array(z.string()).nullish().transform((names): readonly MetadataField[] =>
    METADATA_FIELDS.filter((field) => names?.includes(field))
  ),
  sandbox: SandboxField,
});
export type FsGetMetadataParams = z.output<typeof FsGetMetadataParams>;

/** Everything describes what a link leads to, except `isSymlink`, which is about the path itself. */
export interface FsGetMetadataResult {
  isDirectory: boolean;
  isFile: boolean;
  isSymlink: boolean;
  size: number;
  /** 0 when the filesystem does not know. */
  createdAtMs: number;
  modifiedAtMs: number;
  mode?: number;
  uid?: number;
  gid?: number;
  nlink?: number;
  /** Decimal text: some filesystems use all 64 bits, which JSON numbers do not have. */
  inode?: string;
  /** Null for what is no regular file. */
  digest?: ContentDigest | null;
}

export const FsCanonicalizeParams = z.object({ path: Path, sandbox: SandboxField });
export type FsCanonicalizeParams = z.output<typeof FsCanonicalizeParams>;

export interface FsCanonicalizeResult {
  path: string;
}

// ---------------------------------------------------------------- directories

export const FsCreateDirectoryParams = z.object({
  path: Path,
  recursive: flag(true),
  followSymlinks: FollowSymlinks,
  sandbox: SandboxField,
});
export type FsCreateDirectoryParams = z.output<typeof FsCreateDirectoryParams>;

export const FsReadDirectoryParams = z.object({ path: Path, sandbox: SandboxField });
export type FsReadDirectoryParams = z.output<typeof FsReadDirectoryParams>;

/** Links are described by what they lead to. */
export interface FsDirectoryEntry {
  /** Bytes that are not UTF-8 are replaced, as in the reference; `fs/walk` gives exact URIs. */
  fileName: string;
  isDirectory: boolean;
  isFile: boolean;
}

export interface FsReadDirectoryResult {
  entries: FsDirectoryEntry[];
}

export const FsWalkParams = z.object({
  path: Path,
  options: z.object({
    maxDepth: UnsignedInt,
    maxDirectories: UnsignedInt,
    maxEntries: UnsignedInt,
    followDirectorySymlinks: z.boolean(),
    pruneHiddenDirectories: z.boolean().default(false),
  }),
  sandbox: SandboxField,
});
export type FsWalkParams = z.output<typeof FsWalkParams>;

export interface FsWalkEntry {
  path: string;
  kind: "file" | "directory";
}

export interface FsWalkResult {
  entries: FsWalkEntry[];
  errors: { path: string; message: string }[];
  truncated: boolean;
}

// ---------------------------------------------------------------- names

export const FsRemoveParams = z.object({
  path: Path,
  recursive: flag(true),
  force: flag(true),
  followSymlinks: FollowSymlinks,
  sandbox: SandboxField,
});
export type FsRemoveParams = z.output<typeof FsRemoveParams>;

export const FsCopyParams = z.object({
  sourcePath: Path,
  destinationPath: Path,
  recursive: z.boolean(),
  sandbox: SandboxField,
});
export type FsCopyParams = z.output<typeof FsCopyParams>;

/** Ours. Within one filesystem; a link is renamed itself. */
export const FsRenameParams = z.object({
  sourcePath: Path,
  destinationPath: Path,
  /** Whether what is at the destination may be replaced. */
  overwrite: flag(false),
  sandbox: SandboxField,
});
export type FsRenameParams = z.output<typeof FsRenameParams>;

/** Ours. */
export const FsChmodParams = z.object({
  path: Path,
  mode: Mode,
  followSymlinks: FollowSymlinks,
  sandbox: SandboxField,
});
export type FsChmodParams = z.output<typeof FsChmodParams>;

/** Ours. */
export const FsSymlinkParams = z.object({
  /** The link to make. */
  path: Path,
  /** Taken literally, relative or absolute, existing or not; only a `file:` URI becomes the path it means. */
  target: z.string().transform((target, context): NativePath => {
    if (/^file:/i.test(target)) return parsePath(target).native;
    if (target === "" || target.includes("\0")) {
      context.addIssue({ code: "custom", message: "target must not be empty or contain a NUL character" });
    }
    return target;
  }),
  sandbox: SandboxField,
});
export type FsSymlinkParams = z.output<typeof FsSymlinkParams>;

// ---------------------------------------------------------------- streams

export const FsOpenParams = z.object({
  handleId: z.string(),
  path: Path,
  /** `replace` creates or empties the file at once. */
  mode: oneOf(["read", "replace"]).default("read"),
  /** Ours. */
  followSymlinks: FollowSymlinks,
  sandbox: SandboxField,
});
export type FsOpenParams = z.output<typeof FsOpenParams>;

export interface FsOpenResult {
  handleId: string;
}

export const FsReadBlockParams = z.object({ handleId: z.string(), offset: UnsignedInt, len: UnsignedInt });
export type FsReadBlockParams = z.output<typeof FsReadBlockParams>;

export interface FsReadBlockResult {
  /** Base64. */
  chunk: string;
  /** Fewer bytes came than were asked for. */
  eof: boolean;
}

export const FsWriteBlockParams = z.object({ handleId: z.string(), offset: UnsignedInt, chunk: Base64Bytes });
export type FsWriteBlockParams = z.output<typeof FsWriteBlockParams>;

export const FsCloseParams = z.object({ handleId: z.string() });
export type FsCloseParams = z.output<typeof FsCloseParams>;

// ---------------------------------------------------------------- watches

/** A path of another machine, which cannot be watched, and that is an answer and not an error. */
export const ELSEWHERE: unique symbol = Symbol("a path of another machine");

const WatchablePath = z.string().transform((text, context): NativePath | typeof ELSEWHERE => {
  try {
    return parsePath(text).native;
  } catch (error) {
    if (error instanceof ForeignPathError) return ELSEWHERE;
    context.addIssue({ code: "custom", message: error instanceof Error ? error.message : String(error) });
    return z.NEVER;
  }
});

/** Told with every change, so it has to be one that can be told exactly. */
const WatchId = z.int().min(0);

export const FsWatchMissingParams = z.object({
  watchId: WatchId,
  /** Paths that do not exist. */
  missing: z.array(WatchablePath),
  /** A path that does. */
  present: WatchablePath.nullish(),
});
export type FsWatchMissingParams = z.output<typeof FsWatchMissingParams>;

export interface FsWatchMissingResult {
  watching: boolean;
}

/** Once per watch: something appeared, or what was present changed. */
export interface FsMissingChangedNotification {
  watchId: number;
}

/** Ours. */
export const FsWatchParams = z.object({
  /** Chosen by the client; its own numbering, apart from that of `fs/watchMissing`. */
  watchId: WatchId,
  path: Path,
  /** Directories below it too. */
  recursive: flag(false),
  /** How long changes are gathered before they are told. */
  debounceMs: UnsignedInt.nullish().transform((debounceMs): number | null => debounceMs ?? null),
  sandbox: SandboxField,
});
export type FsWatchParams = z.output<typeof FsWatchParams>;

/** Ours. An unknown id is no error: the watch may just have ended. */
export const FsUnwatchParams = z.object({ watchId: WatchId });
export type FsUnwatchParams = z.output<typeof FsUnwatchParams>;

/**
 * - `created`, `modified`, `removed`: what became of the path since it was last told of, however many steps that took.
 *   A rename is a removal and a creation.
 * - `overflow`: changes below the path were missed; only looking again tells which.
 * - `unwatched`: the directory at the path cannot be watched (any more); changes below it are not told.
 */
export type FsChangeKind = "created" | "modified" | "removed" | "overflow" | "unwatched";

export interface FsChange {
  path: string;
  kind: FsChangeKind;
}

/** Ours. */
export interface FsChangedNotification {
  watchId: number;
  changes: FsChange[];
}
