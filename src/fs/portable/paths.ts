/** Paths as the runtime takes them, and what is known of a file after a look at it. */

import { lossyText, toByteString } from "../../os/files/byte_string.ts";
import { ENOENT } from "../../os/errno.ts";
import { S_IFMT } from "../../os/files/file_stat.ts";
import type { NativePath } from "../../path_uri.ts";
import { looksLikePlaceholder } from "../../launch/policy/placeholders.ts";
import { PROTECTED_NAMES } from "../../launch/policy/policy_resolve.ts";
import { OsError } from "../map_error.ts";
import type { PortableContext } from "./context.ts";
import { cannotName } from "./refusals.ts";
import { joinPath, lastName } from "../../text_path.ts";

export interface FileFacts {
  /** One of the `S_IF` values. */
  readonly type: number;
  /** Permission, set-id and sticky bits. */
  readonly mode: number;
  readonly size: number;
  readonly links: number;
  readonly uid: number;
  readonly gid: number;
  readonly inode: number;
  /** Device, inode and birth time, to compare: a new file often gets the inode number of a deleted one. */
  readonly identity: string;
  /** Changes when the content changes, as far as the runtime can show it: its times are whole milliseconds. */
  readonly version: string;
  readonly modifiedAtMs: number;
  /** 0 when it is not recorded. */
  readonly createdAtMs: number;
}

/** The runtime has two shapes for this: that of `Deno.stat`, and that of `fstat` with milliseconds instead of dates. */
export interface RawFacts extends Pick<Deno.FileInfo, "mode" | "size" | "nlink" | "uid" | "gid" | "ino" | "dev"> {
  readonly modifiedAtMs: number | undefined;
  readonly createdAtMs: number | undefined;
}

export function factsOf(raw: RawFacts): FileFacts {
  const typeAndMode = raw.mode ?? 0;
  const [inode, modifiedAtMs, createdAtMs] = [raw.ino ?? 0, wholeMs(raw.modifiedAtMs), wholeMs(raw.createdAtMs)];
  const identity = `${raw.dev}:${inode}:${createdAtMs}`;
  return {
    type: typeAndMode & S_IFMT,
    mode: typeAndMode & 0o7777,
    size: raw.size,
    links: raw.nlink ?? 1,
    uid: raw.uid ?? 0,
    gid: raw.gid ?? 0,
    inode,
    identity,
    version: `${identity}:${raw.size}:${modifiedAtMs}`,
    modifiedAtMs,
    createdAtMs,
  };
}

/** 0 for times before 1970 and for unknown ones. */
function wholeMs(ms: number | undefined): number {
  return ms === undefined || !Number.isFinite(ms) ? 0 : Math.max(0, Math.floor(ms));
}

/** The runtime has no way to name files whose names are not UTF-8. */
export function textPath(path: NativePath, reason: string): string {
  if (typeof path === "string") return path;
  throw cannotName(lossyText(toByteString(path)), reason);
}

/** Stands in names for bytes that are not UTF-8. */
const REPLACEMENT_CHARACTER = "\uFFFD";

export interface Entry {
  readonly name: string;
  readonly type: "file" | "directory" | "link" | "special";
  /** Whether this name leads to the file. It does not when the real name is not UTF-8. */
  readonly isReachable: boolean;
}

/** The names in a directory, in its own order. Placeholders are left out: they stand for nothing. */
export async function listDirectory(context: PortableContext, path: string, signal?: AbortSignal): Promise<Entry[]> {
  const found = await context.call(() => Array.fromAsync(Deno.readDir(path)));
  const seen = new Set<string>();
  const entries: Entry[] = [];
  for (const { name, isFile, isDirectory, isSymlink } of found) {
    signal?.throwIfAborted();
    let isReachable = true;
    if (name.includes(REPLACEMENT_CHARACTER)) {
      // A name may really contain that character; then it can be found by it. Of two equal names only one can be real.
      isReachable = !seen.has(name) && await context.lookIfThere(joinPath(path, name)) !== null;
      seen.add(name);
    }
    const type = isFile ? "file" : isDirectory ? "directory" : isSymlink ? "link" : "special";
    if (type === "directory" && await isPlaceholder(context, joinPath(path, name))) continue;
    entries.push({ name, type, isReachable });
  }
  return entries;
}

/**
 * Whether a directory is a placeholder that only keeps a name free while a sandbox of another server runs
 * (`launch/policy/placeholders.ts`). To clients it does not exist.
 */
export async function isPlaceholder(context: PortableContext, path: string): Promise<boolean> {
  if (!PROTECTED_NAMES.includes(lastName(path))) return false;
  const info = await context.attempt(() => Deno.lstat(path));
  if (info === null || !info.isDirectory || !looksLikePlaceholder(info)) return false;
  const names = await context.attempt(() => Array.fromAsync(Deno.readDir(path)));
  return names?.length === 0;
}

/** @throws {OsError} ENOENT for a placeholder */
export async function refusePlaceholder(context: PortableContext, path: string): Promise<void> {
  if (await isPlaceholder(context, path)) throw new OsError(ENOENT);
}
