/** Options and results of `put` and `get`. */

import type { FileOptions } from "../file_options.ts";

/**
 * How far a copy is. The totals grow while directories are still being looked at.
 *
 * ```ts
 * const show = ({ bytes, totalBytes }: CopyProgress) => console.log(`${bytes} of ${totalBytes}`);
 * await box.fs.get("/work/project", "./copy", { onProgress: show });
 * ```
 */
export interface CopyProgress {
  /** Relative path of the file that moved last; empty for a single file. */
  readonly path: string;
  /** Files that are complete. */
  readonly files: number;
  /** Bytes of content that have arrived. */
  readonly bytes: number;
  /** Files found so far. */
  readonly totalFiles: number;
  /** Their bytes. */
  readonly totalBytes: number;
}

/**
 * Options of both directions.
 *
 * ```ts
 * const options: CopyOptions = { ignore: ["node_modules/"], onProgress: ({ files }) => console.log(files) };
 * await box.fs.put("./project", "/work/project", options);
 * ```
 */
export interface CopyOptions extends Pick<FileOptions, "signal"> {
  /** Patterns as in `.gitignore`, tied to the directory that is copied: `["node_modules/", "*.log", "!keep.log"]`. */
  readonly ignore?: readonly string[] | undefined;
  /** Writes every file to the device before it gets its name. Otherwise the kernel decides when. */
  readonly sync?: boolean | undefined;
  /** Called after every block and file. */
  readonly onProgress?: ((progress: CopyProgress) => void) | undefined;
}

/**
 * Something that could not be copied.
 *
 * ```ts
 * const { failures } = await box.fs.put("./project", "/work/project");
 * for (const { path, message } of failures satisfies readonly CopyFailure[]) console.log(path, message);
 * ```
 */
export interface CopyFailure {
  /** Relative path; empty for the source itself. */
  readonly path: string;
  /** Why, for people. */
  readonly message: string;
}

/**
 * What was copied.
 *
 * ```ts
 * const { files, bytes, failures }: CopyResult = await box.fs.get("/work/project", "./copy");
 * console.log(files, bytes, failures.length === 0);
 * ```
 */
export interface CopyResult {
  /** How many files. */
  readonly files: number;
  /** How many bytes of content. */
  readonly bytes: number;
  /** How many directories. */
  readonly directories: number;
  /** How many symbolic links. */
  readonly links: number;
  /** Relative paths of devices, sockets and pipes, which are left out. */
  readonly skipped: readonly string[];
  /** What could not be copied. Everything else was. */
  readonly failures: readonly CopyFailure[];
}
