/** Options and results of the file operations. */

import { type Sandbox, sandboxObject } from "../process/spawn_options.ts";

/**
 * Options of all operations.
 *
 * ```ts
 * const options: FileOptions = { sandbox: "read-only", signal: AbortSignal.timeout(5000) };
 * console.log(await box.fs.readTextFile("/work/a.txt", options));
 * ```
 */
export interface FileOptions {
  /** Does only what the sandbox allows. `workspace-write` needs `cwd`. */
  readonly sandbox?: Sandbox | undefined;
  /** The workspace of a named policy. */
  readonly cwd?: string | undefined;
  /** Gives up waiting. A change that has begun may still be made. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * How links are treated.
 *
 * ```ts
 * const options: LinkOptions = { followSymlinks: false };
 * await box.fs.chmod("/work/run.sh", 0o755, options);
 * ```
 */
export interface LinkOptions {
  /** False: no part of the path may be a link. The kernel enforces this. */
  readonly followSymlinks?: boolean | undefined;
}

/**
 * Which part of a file is read.
 *
 * ```ts
 * const options: ReadOptions = { offset: 1000, length: 100 };
 * console.log(await box.fs.readFile("/work/big.bin", options));
 * ```
 */
export interface ReadOptions extends FileOptions, LinkOptions {
  /** Where to begin. */
  readonly offset?: number | undefined;
  /** How much at most. */
  readonly length?: number | undefined;
}

/**
 * How a file is written.
 *
 * ```ts
 * const options: WriteOptions = { atomic: true, mode: 0o600 };
 * await box.fs.writeTextFile("/work/secret", "…", options);
 * ```
 */
export interface WriteOptions extends FileOptions, LinkOptions {
  /** Readers see the old content or the new, never a part, and the new one is on the device when this resolves. */
  readonly atomic?: boolean | undefined;
  /** Lets an atomic write give the path a file of its own when the old one has other names too. */
  readonly breakHardLinks?: boolean | undefined;
  /** Writes only if the content still has this digest, or if there is no file. */
  readonly ifMatch?: ContentDigest | "absent" | undefined;
  /** The mode the file has afterwards. */
  readonly mode?: number | undefined;
}

/**
 * `sha256:` and 64 lower-case hex digits.
 *
 * ```ts
 * const { digest } = await box.fs.stat("/work/a.txt", { fields: ["digest"] });
 * const seen: ContentDigest = digest!;
 * await box.fs.writeTextFile("/work/a.txt", "new", { atomic: true, ifMatch: seen });
 * ```
 */
export type ContentDigest = `sha256:${string}`;

/**
 * What is at a path. Everything is about what a link leads to, except `isSymlink`.
 *
 * ```ts
 * const { size, isDirectory }: FileInfo = await box.fs.stat("/work/a.txt");
 * console.log(size, isDirectory);
 * ```
 */
export interface FileInfo {
  /** Whether it is a directory. */
  readonly isDirectory: boolean;
  /** Whether it is a regular file. */
  readonly isFile: boolean;
  /** Whether the path itself is a link. */
  readonly isSymlink: boolean;
  /** In bytes. */
  readonly size: number;
  /** Milliseconds since 1970; 0 when the filesystem does not know. */
  readonly createdAtMs: number;
  /** Milliseconds since 1970. */
  readonly modifiedAtMs: number;
  /** Permission bits and more; if asked for. */
  readonly mode?: number;
  /** Its owner; if asked for. */
  readonly uid?: number;
  /** Its group; if asked for. */
  readonly gid?: number;
  /** How many names it has; if asked for. */
  readonly nlink?: number;
  /** Decimal text; if asked for. */
  readonly inode?: string;
  /** The digest of its content, if asked for; null for what is not a regular file. */
  readonly digest?: ContentDigest | null;
}

/**
 * A name in a directory.
 *
 * ```ts
 * const entries: DirectoryEntry[] = await box.fs.readDir("/work");
 * console.log(entries.filter(({ isFile }) => isFile).map(({ fileName }) => fileName));
 * ```
 */
export interface DirectoryEntry {
  /** Bytes that are not UTF-8 are replaced; `walk` gives exact paths. */
  readonly fileName: string;
  /** Whether it is, or leads to, a directory. */
  readonly isDirectory: boolean;
  /** Whether it is, or leads to, a regular file. */
  readonly isFile: boolean;
}

/**
 * A name in a directory, described itself.
 *
 * ```ts
 * const entries: ListedEntry[] = await box.fs.list("/work");
 * for (const { name, kind, size } of entries) console.log(kind, size, name);
 * ```
 */
export interface ListedEntry {
  /** Its name. Bytes that are not UTF-8 are replaced. */
  readonly name: string;
  /** What it is. */
  readonly kind: "file" | "directory" | "symlink" | "other";
  /** In bytes. */
  readonly size: number;
  /** Permission, set-id and sticky bits; null where the server does not tell. */
  readonly mode: number | null;
  /** Milliseconds since 1970. */
  readonly modifiedAtMs: number;
  /** Its owner; null where the server does not tell. */
  readonly uid: number | null;
  /** Its group; null where the server does not tell. */
  readonly gid: number | null;
  /** How many names it has; null where the server does not tell. */
  readonly nlink: number | null;
  /** Where a link leads, as it is written in it. Undefined for all else. */
  readonly target?: string | undefined;
}

/**
 * The bounds of a walk.
 *
 * ```ts
 * const options: WalkOptions = { maxDepth: 3, pruneHiddenDirectories: true };
 * console.log((await box.fs.walk("/work", options)).entries.length);
 * ```
 */
export interface WalkOptions extends FileOptions {
  /** Levels below the path. 64, the server's bound, unless given. */
  readonly maxDepth?: number | undefined;
  /** 50000, the server's bound, unless given. */
  readonly maxEntries?: number | undefined;
  /** Whether links to directories are followed. */
  readonly followDirectorySymlinks?: boolean | undefined;
  /** Whether directories whose names begin with a dot are left out. */
  readonly pruneHiddenDirectories?: boolean | undefined;
}

/**
 * What a walk has found.
 *
 * ```ts
 * const { entries, truncated }: WalkResult = await box.fs.walk("/work");
 * console.log(entries.map(({ path }) => path), truncated);
 * ```
 */
export interface WalkResult {
  /** In the order they were found. */
  readonly entries: readonly { readonly path: string; readonly kind: "file" | "directory" }[];
  /** What could not be looked into. */
  readonly errors: readonly { readonly path: string; readonly message: string }[];
  /** Whether a bound ended it early. */
  readonly truncated: boolean;
}

/** Links are followed unless the options say otherwise. */
export function links({ followSymlinks = true }: LinkOptions): { followSymlinks: boolean } {
  return { followSymlinks };
}

/** The sandbox of an operation, as it is sent. */
export function confinement({ sandbox, cwd }: FileOptions): { sandbox?: unknown } {
  if (sandbox === undefined) return {};
  if (typeof sandbox !== "string") return { sandbox };
  if (cwd !== undefined) return { sandbox: sandboxObject(sandbox, cwd) };
  if (sandbox === "workspace-write") {
    throw new TypeError('the policy "workspace-write" needs `cwd`: the directory that may be written');
  }
  return { sandbox: { sandboxPolicy: { type: sandbox } } };
}
