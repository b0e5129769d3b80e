/**
 * What the methods of the filesystem family take. `fs_results.ts` has what they answer, and what is told unasked.
 *
 * Schemas decode: paths come out as native paths, base64 as bytes, and what was left out as its default, so that the
 * output of a schema is what the filesystem layer takes. Unknown fields are ignored, since other versions exist. Fields
 * and methods marked "ours" are extensions that clients of the reference never meet.
 */

import * as z from "zod/mini";
import { invalidRequest, messageOf } from "../errors.ts";
import { ForeignPathError, MAX_PATH_BYTES, type NativePath, parsePeerPath, PathTooLongError } from "../path_uri.ts";
import { contentBytes } from "./base64.ts";
import { confinable, unconfinable } from "./confinable.ts";
import { addIssue, convert } from "./convert.ts";
import { AbsolutePath, Base64Bytes, Base64Text, oneOf, UnsignedInt } from "./primitives.ts";
import { SandboxField } from "./process.ts";
import { noted } from "./wire_notes.ts";

export type * from "./fs_results.ts";

// ---------------------------------------------------------------- fields

const Path = convert(AbsolutePath, ({ native }): NativePath => native);

const flag = (whenAbsent: boolean) => convert(z.nullish(z.boolean()), (value): boolean => value ?? whenAbsent);

/** False: no component of the path may be a link. */
const FollowSymlinks = flag(true);

/** Permission, set-id and sticky bits. */
const Mode = z.int().check(z.minimum(0), z.maximum(0o7777));

const DIGEST = /^sha256:[0-9a-f]{64}$/;

/** `sha256:` and 64 lower-case hex digits. */
export type ContentDigest = `sha256:${string}`;

/** What a conditional write expects to find: content with this digest, or no file at all. */
const IfMatch = noted(
  z.string().check(z.refine((text) => text === "absent" || DIGEST.test(text), {
    error: "ifMatch must be `absent` or `sha256:` followed by 64 lower-case hex digits",
  })),
  { json: { pattern: `^absent$|${DIGEST.source}` } },
);

// ---------------------------------------------------------------- files

export const FsReadFileParams = confinable(z.object({
  path: Path,
  followSymlinks: FollowSymlinks,
  /** Ours. Where to begin; beyond the end there is nothing, which is no error. */
  offset: convert(z.nullish(UnsignedInt), (offset): number => offset ?? 0),
  /** Ours. How much at most; null is all the rest. */
  length: convert(z.nullish(UnsignedInt), (length): number | null => length ?? null),
  sandbox: SandboxField,
}));
export type FsReadFileParams = z.output<typeof FsReadFileParams>;

export const FsWriteFileParams = confinable(
  convert(
    z.object({
      path: Path,
      dataBase64: Base64Text,
      followSymlinks: FollowSymlinks,
      /** Ours. Readers see the old content or the new, never a part; the new one is on the device when this is answered. */
      atomic: flag(false),
      /** Ours. Lets an atomic write give the path a file of its own when the old one has other names too. */
      breakHardLinks: flag(false),
      /** Ours. Write only if the file is still what the caller has read. */
      ifMatch: convert(z.nullish(IfMatch), (text) => (text ?? null) as ContentDigest | "absent" | null),
      /** Ours. The mode the file has afterwards, whatever the umask; null keeps it, or takes the usual for a new file. */
      mode: convert(z.nullish(Mode), (mode): number | null => mode ?? null),
      /** Ours. False: an atomic write leaves it to the kernel when the new content gets to the device. */
      flush: flag(true),
      /** Ours. The time of modification that the file has afterwards; null is now. */
      modifiedAtMs: convert(z.nullish(UnsignedInt), (time): number | null => time ?? null),
      sandbox: SandboxField,
    }),
    ({ dataBase64, ...params }) => {
      // Thrown past zod, once all else has decoded: this one field's syntax is an invalid request and not invalid parameters.
      const data = contentBytes(dataBase64);
      if (data === null) throw invalidRequest("fs/writeFile requires valid base64 dataBase64");
      return { ...params, data };
    },
  ),
);
export type FsWriteFileParams = z.output<typeof FsWriteFileParams>;

/** Names for `fields` of `fs/getMetadata`. */
const METADATA_FIELDS = ["mode", "uid", "gid", "nlink", "inode", "digest"] as const;
export type MetadataField = typeof METADATA_FIELDS[number];

export const FsGetMetadataParams = confinable(z.object({
  path: Path,
  followSymlinks: FollowSymlinks,
  /** Ours. What to answer besides; names from `METADATA_FIELDS`, others are ignored so that newer ones can be asked for. */
  fields: convert(
    z.nullish(z.array(z.string())),
    (names): readonly MetadataField[] => METADATA_FIELDS.filter((field) => names?.includes(field)),
  ),
  sandbox: SandboxField,
}));
export type FsGetMetadataParams = z.output<typeof FsGetMetadataParams>;

export const FsCanonicalizeParams = confinable(z.object({ path: Path, sandbox: SandboxField }));
export type FsCanonicalizeParams = z.output<typeof FsCanonicalizeParams>;

// ---------------------------------------------------------------- directories

export const FsCreateDirectoryParams = confinable(z.object({
  path: Path,
  recursive: flag(true),
  followSymlinks: FollowSymlinks,
  sandbox: SandboxField,
}));
export type FsCreateDirectoryParams = z.output<typeof FsCreateDirectoryParams>;

export const FsReadDirectoryParams = confinable(z.object({ path: Path, sandbox: SandboxField }));
export type FsReadDirectoryParams = z.output<typeof FsReadDirectoryParams>;

/** Ours. */
export const FsListParams = confinable(z.object({ path: Path, sandbox: SandboxField }));
export type FsListParams = z.output<typeof FsListParams>;

export const FsWalkOptions = unconfinable(
  z.object({
    maxDepth: UnsignedInt,
    maxDirectories: UnsignedInt,
    maxEntries: UnsignedInt,
    followDirectorySymlinks: z.boolean(),
    pruneHiddenDirectories: z._default(z.boolean(), false),
  }),
  "`sandbox` belongs beside `options`",
);

export const FsWalkParams = confinable(z.object({ path: Path, options: FsWalkOptions, sandbox: SandboxField }));
export type FsWalkParams = z.output<typeof FsWalkParams>;

// ---------------------------------------------------------------- names

export const FsRemoveParams = confinable(z.object({
  path: Path,
  recursive: flag(true),
  force: flag(true),
  followSymlinks: FollowSymlinks,
  sandbox: SandboxField,
}));
export type FsRemoveParams = z.output<typeof FsRemoveParams>;

export const FsCopyParams = confinable(z.object({
  sourcePath: Path,
  destinationPath: Path,
  recursive: z.boolean(),
  sandbox: SandboxField,
}));
export type FsCopyParams = z.output<typeof FsCopyParams>;

/** Ours. Within one filesystem; a link is renamed itself. */
export const FsRenameParams = confinable(z.object({
  sourcePath: Path,
  destinationPath: Path,
  /** Whether what is at the destination may be replaced. */
  overwrite: flag(false),
  /** Whether the file and its new name are on the device when this is answered. */
  flush: flag(false),
  sandbox: SandboxField,
}));
export type FsRenameParams = z.output<typeof FsRenameParams>;

/** Ours. */
export const FsChmodParams = confinable(z.object({
  path: Path,
  mode: Mode,
  followSymlinks: FollowSymlinks,
  sandbox: SandboxField,
}));
export type FsChmodParams = z.output<typeof FsChmodParams>;

/** Ours. */
export const FsSetTimesParams = confinable(z.object({
  path: Path,
  modifiedAtMs: UnsignedInt,
  followSymlinks: FollowSymlinks,
  sandbox: SandboxField,
}));
export type FsSetTimesParams = z.output<typeof FsSetTimesParams>;

/** Ours. */
export const FsSymlinkParams = confinable(z.object({
  /** The link to make. */
  path: Path,
  /** Taken literally, relative or absolute, existing or not; only a `file:` URI becomes the path it means. */
  target: noted(
    convert(z.string(), (target, payload): NativePath => {
      if (/^file:/i.test(target)) return parsePeerPath(target).native;
      if (target.length >= MAX_PATH_BYTES) throw new PathTooLongError();
      if (target === "" || target.includes("\0")) {
        addIssue(payload, { code: "custom", message: "target must not be empty or contain a NUL character" });
      }
      return target;
    }),
    { constraints: ["linkTarget", "absolutePath"], json: { minLength: 1 } },
  ),
  sandbox: SandboxField,
}));
export type FsSymlinkParams = z.output<typeof FsSymlinkParams>;

// ---------------------------------------------------------------- streams

export const FsOpenParams = confinable(z.object({
  handleId: z.string(),
  path: Path,
  /** `replace` creates or empties the file at once. `update`, ours, writes into one that is there, and empties nothing. */
  mode: z._default(oneOf(["read", "replace", "update"]), "read"),
  /** Ours. */
  followSymlinks: FollowSymlinks,
  sandbox: SandboxField,
}));
export type FsOpenParams = z.output<typeof FsOpenParams>;

/** Why blocks take no sandbox. */
const FROM_OPEN = "a handle is confined as fs/open was";

export const FsReadBlockParams = unconfinable(
  z.object({ handleId: z.string(), offset: UnsignedInt, len: UnsignedInt }),
  FROM_OPEN,
);
export type FsReadBlockParams = z.output<typeof FsReadBlockParams>;

export const FsWriteBlockParams = unconfinable(
  z.object({ handleId: z.string(), offset: UnsignedInt, chunk: Base64Bytes }),
  FROM_OPEN,
);
export type FsWriteBlockParams = z.output<typeof FsWriteBlockParams>;

export const FsCloseParams = z.object({ handleId: z.string() });
export type FsCloseParams = z.output<typeof FsCloseParams>;

// ---------------------------------------------------------------- watches

/** A path of another machine, or of none, which cannot be watched, and that is an answer and not an error. */
export const ELSEWHERE: unique symbol = Symbol("a path that is not of this machine");

const WatchablePath = noted(
  convert(z.string(), (text, payload): NativePath | typeof ELSEWHERE => {
    try {
      return parsePeerPath(text).native;
    } catch (error) {
      if (error instanceof ForeignPathError || error instanceof PathTooLongError) return ELSEWHERE;
      addIssue(payload, { code: "custom", message: messageOf(error) });
      return z.NEVER;
    }
  }),
  { constraints: ["absolutePath"] },
);

/** Told with every change, so it has to be one that can be told exactly. */
const WatchId = z.int().check(z.minimum(0));

export const FsWatchMissingParams = unconfinable(
  z.object({
    watchId: WatchId,
    /** Paths that do not exist. */
    missing: z.array(WatchablePath),
    /** A path that does. */
    present: z.nullish(WatchablePath),
  }),
  "watches under a sandbox are made with fs/watch",
);
export type FsWatchMissingParams = z.output<typeof FsWatchMissingParams>;

/** Ours. */
export const FsWatchParams = confinable(z.object({
  /** Chosen by the client; its own numbering, apart from that of `fs/watchMissing`. */
  watchId: WatchId,
  path: Path,
  /** Directories below it too. */
  recursive: flag(false),
  /** How long changes are gathered before they are told. */
  debounceMs: convert(z.nullish(UnsignedInt), (debounceMs): number | null => debounceMs ?? null),
  sandbox: SandboxField,
}));
export type FsWatchParams = z.output<typeof FsWatchParams>;

/** Ours. An unknown id is no error: the watch may just have ended. */
export const FsUnwatchParams = z.object({ watchId: WatchId });
export type FsUnwatchParams = z.output<typeof FsUnwatchParams>;
