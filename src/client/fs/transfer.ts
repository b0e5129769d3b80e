/**
 * Files and whole directories between this machine and the box. Everything is written beside its place and renamed when
 * it is complete, so that nobody sees a part of it. Needs a runtime with `node:fs`: Deno, Node or Bun, not a browser.
 */

import type * as NodeFs from "node:fs/promises";
import { abortedBy } from "../errors.ts";
import { chunksOf } from "../process/output_stream.ts";
import type { DevboxFiles } from "./devbox_files.ts";
import type { FileOptions } from "./file_options.ts";
import { ignoreTest } from "./ignore_rules.ts";
import { joinPath, splitPath } from "./paths.ts";

/**
 * How far a transfer is.
 *
 * ```ts
 * const onProgress = ({ path, bytes }: TransferProgress) => console.log(path, bytes);
 * await box.fs.upload("./project", "/work/project", { onProgress });
 * ```
 */
export interface TransferProgress {
  /** Relative path of the file that was copied last; empty for a single file. */
  readonly path: string;
  /** Files that are complete. */
  readonly files: number;
  /** Bytes of content that were copied. */
  readonly bytes: number;
}

/**
 * Options of both directions.
 *
 * ```ts
 * const options: TransferOptions = { ignore: ["node_modules/"], overwrite: true };
 * await box.fs.upload("./project", "/work/project", options);
 * ```
 */
export interface TransferOptions extends Pick<FileOptions, "sandbox" | "cwd" | "signal"> {
  /** Patterns as in `.gitignore`, tied to the directory that is copied: `["node_modules/", "*.log", "!keep.log"]`. */
  readonly ignore?: readonly string[] | undefined;
  /** Called after every file. */
  readonly onProgress?: ((progress: TransferProgress) => void) | undefined;
  /** Replaces what is at the destination. Without it something there is an error. */
  readonly overwrite?: boolean | undefined;
}

/**
 * How something is copied to the box.
 *
 * ```ts
 * const options: UploadOptions = { ignore: ["node_modules/", "!keep.log"] };
 * await box.fs.upload("./project", "/work/project", options);
 * ```
 */
export interface UploadOptions extends TransferOptions {}

/**
 * How something is copied from the box.
 *
 * ```ts
 * const options: DownloadOptions = { ignore: ["*.log"], overwrite: true };
 * await box.fs.download("/work/project", "./copy", options);
 * ```
 */
export interface DownloadOptions extends TransferOptions {}

/**
 * What was copied.
 *
 * ```ts
 * const { files, skipped }: TransferResult = await box.fs.upload("./project", "/work/project");
 * console.log(files, skipped);
 * ```
 */
export interface TransferResult {
  /** How many files. */
  readonly files: number;
  /** How many bytes of content. */
  readonly bytes: number;
  /** Relative paths of what was left out: devices, sockets, pipes, and, from the box, links to directories. */
  readonly skipped: readonly string[];
}

/** Counts, and calls `onProgress`. */
class Progress {
  files = 0;
  bytes = 0;
  readonly skipped: string[] = [];
  readonly #options: TransferOptions;

  constructor(options: TransferOptions) {
    this.#options = options;
  }

  copied(path: string, bytes: number): void {
    this.files++;
    this.bytes += bytes;
    this.#options.onProgress?.({ path, files: this.files, bytes: this.bytes });
  }

  result(): TransferResult {
    return { files: this.files, bytes: this.bytes, skipped: this.skipped };
  }
}

/** See `DevboxFiles.upload`. */
export async function upload(
  files: DevboxFiles,
  from: string,
  to: string,
  options: UploadOptions,
): Promise<TransferResult> {
  const fs = await nodeFs();
  const { sandbox, cwd, signal, overwrite = false } = options;
  const common = { sandbox, cwd, signal };
  const progress = new Progress(options);
  const part = partOf(to);
  const source = localPath(from);
  try {
    const info = await fs.stat(source);
    if (info.isDirectory()) await uploadDirectory({ fs, files, progress, options }, source, part, "");
    else await uploadFile({ fs, files, progress, options }, source, part, "", info.mode);
    await files.mkdir(splitPath(to).directory, common);
    if (overwrite) await clearRemote(files, to, info.isDirectory(), common);
    await files.rename(part, to, { overwrite: overwrite && !info.isDirectory(), ...common });
  } catch (error) {
    await files.remove(part, { sandbox, cwd }).catch(() => {});
    throw error;
  }
  return progress.result();
}

interface UploadContext {
  readonly fs: typeof NodeFs;
  readonly files: DevboxFiles;
  readonly progress: Progress;
  readonly options: TransferOptions;
}

async function uploadDirectory(context: UploadContext, from: string, to: string, relative: string): Promise<void> {
  const { fs, files, progress, options } = context;
  const { sandbox, cwd, signal } = options;
  const isIgnored = ignoreTest(options.ignore ?? []);
  await files.mkdir(to, { sandbox, cwd, signal });
  for (const entry of await fs.readdir(from, { withFileTypes: true })) {
    if (signal?.aborted) throw abortedBy(signal, `cannot upload ${from}`);
    const path = relative === "" ? entry.name : `${relative}/${entry.name}`;
    if (isIgnored(path, entry.isDirectory())) continue;
    const [source, target] = [`${from}/${entry.name}`, joinPath(to, entry.name)];
    if (entry.isDirectory()) await uploadDirectory(context, source, target, path);
    else if (entry.isSymbolicLink()) await files.symlink(await fs.readlink(source), target, { sandbox, cwd, signal });
    else if (entry.isFile()) await uploadFile(context, source, target, path, (await fs.stat(source)).mode);
    else progress.skipped.push(path);
  }
}

async function uploadFile(
  { fs, files, progress, options }: UploadContext,
  from: string,
  to: string,
  relative: string,
  mode: number,
): Promise<void> {
  const { sandbox, cwd, signal } = options;
  const file = await fs.open(from);
  try {
    const { size } = await file.stat();
    if (size <= SMALL_FILE_BYTES) {
      const bytes = await file.readFile();
      await files.writeFile(to, bytes, { mode: mode & 0o777, sandbox, cwd, signal });
      progress.copied(relative, bytes.length);
      return;
    }
    const writer = files.writeStream(to, { mode: mode & 0o777, sandbox, cwd, signal }).getWriter();
    let total = 0;
    try {
      for (;;) {
        const { bytesRead, buffer } = await file.read(new Uint8Array(SMALL_FILE_BYTES), 0, SMALL_FILE_BYTES);
        if (bytesRead === 0) break;
        await writer.write(buffer.subarray(0, bytesRead));
        total += bytesRead;
      }
      await writer.close();
    } catch (error) {
      await writer.abort(error).catch(() => {});
      throw error;
    }
    progress.copied(relative, total);
  } finally {
    await file.close();
  }
}

/** How much is read at once. */
const SMALL_FILE_BYTES = 1024 * 1024;

/** See `DevboxFiles.download`. */
export async function download(
  files: DevboxFiles,
  from: string,
  to: string,
  options: DownloadOptions,
): Promise<TransferResult> {
  const fs = await nodeFs();
  const { sandbox, cwd, signal, overwrite = false } = options;
  const progress = new Progress(options);
  const { resolve } = await import("node:path");
  const target = resolve(localPath(to));
  const part = partOf(target);
  try {
    const info = await files.stat(from, { sandbox, cwd, signal });
    await fs.mkdir(splitPath(target).directory, { recursive: true });
    if (info.isDirectory) await downloadDirectory({ fs, files, progress, options }, from, part, "");
    else await downloadFile({ fs, files, progress, options }, from, part, "");
    const isTaken = await fs.lstat(target).then(() => true, () => false);
    if (isTaken && !overwrite) {
      throw new Error(`cannot download to ${target}: it already exists; set \`overwrite\` to replace it`);
    }
    if (isTaken && info.isDirectory) await fs.rm(target, { recursive: true });
    await fs.rename(part, target);
  } catch (error) {
    await fs.rm(part, { recursive: true, force: true }).catch(() => {});
    throw error;
  }
  return progress.result();
}

async function downloadDirectory(context: UploadContext, from: string, to: string, relative: string): Promise<void> {
  const { fs, files, progress, options } = context;
  const { sandbox, cwd, signal } = options;
  const isIgnored = ignoreTest(options.ignore ?? []);
  await fs.mkdir(to);
  for (const { fileName, isDirectory, isFile } of await files.readDir(from, { sandbox, cwd, signal })) {
    const path = relative === "" ? fileName : `${relative}/${fileName}`;
    if (isIgnored(path, isDirectory)) continue;
    // A name comes from the box: it must not lead anywhere else.
    if (fileName === "" || fileName === "." || fileName === ".." || /[/\0]/.test(fileName)) {
      throw new Error(`cannot download ${from}: the box sent the unsafe file name ${JSON.stringify(fileName)}`);
    }
    const [source, target] = [joinPath(from, fileName), `${to}/${fileName}`];
    // A link to a directory may lead to a directory above it.
    if (isDirectory && (await files.stat(source, { sandbox, cwd, signal })).isSymlink) progress.skipped.push(path);
    else if (isDirectory) await downloadDirectory(context, source, target, path);
    else if (isFile) await downloadFile(context, source, target, path);
    else progress.skipped.push(path);
  }
}

async function downloadFile(
  { fs, files, progress, options }: UploadContext,
  from: string,
  to: string,
  relative: string,
): Promise<void> {
  const { sandbox, cwd, signal } = options;
  const { mode } = await files.stat(from, { fields: ["mode"], sandbox, cwd, signal });
  const file = await fs.open(to, "wx", mode === undefined ? 0o666 : mode & 0o777);
  let total = 0;
  try {
    for await (const chunk of chunksOf(files.readStream(from, { sandbox, cwd, signal }))) {
      for (let at = 0; at < chunk.length;) at += (await file.write(chunk, at, chunk.length - at)).bytesWritten;
      total += chunk.length;
    }
  } finally {
    await file.close();
  }
  progress.copied(relative, total);
}

/** A rename does not replace a directory: the old one is removed first. */
async function clearRemote(
  files: DevboxFiles,
  path: string,
  isDirectory: boolean,
  options: FileOptions,
): Promise<void> {
  if (isDirectory && await files.exists(path, options)) await files.remove(path, options);
}

/** An unused name beside the destination. */
function partOf(path: string): string {
  const { directory, name } = splitPath(path);
  return `${directory === "/" ? "" : directory}/.${name.slice(0, 60)}.${crypto.randomUUID().slice(0, 8)}.part`;
}

async function nodeFs(): Promise<typeof NodeFs> {
  try {
    return await import("node:fs/promises");
  } catch (error) {
    throw new TypeError("cannot copy files of this machine: this runtime has none (use readStream and writeStream)", {
      cause: error,
    });
  }
}

function localPath(path: string): string {
  return path.startsWith("file:") ? decodeURIComponent(new URL(path).pathname) : path;
}
