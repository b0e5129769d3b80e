/**
 * The files of a box. Paths are absolute; failures throw a `ServerError`, whose `isNotFound` says whether the path does
 * not exist.
 *
 * More than 300 lines: one short method for each operation.
 */

import { toFileUri } from "../../path_uri.ts";
import { ERROR_CODES } from "../../protocol/error_codes.ts";
import type { MetadataField } from "../../protocol/fs.ts";
import { ServerError } from "../errors.ts";
import type { OutputStream } from "../process/output_stream.ts";
import type { Session } from "../session/session.ts";
import { BLOCK_BYTES, FileHandle } from "./file_handle.ts";
import {
  confinement,
  type DirectoryEntry,
  type FileInfo,
  type FileOptions,
  type LinkOptions,
  links,
  type ListedEntry,
  type ReadOptions,
  type WalkOptions,
  type WalkResult,
  type WriteOptions,
} from "./file_options.ts";
import { type BoxPath, joinPath, pathOf, uriOf } from "./paths.ts";
import { RemoteFileSystem } from "./remote_file_system.ts";
import { readStream, type ReadStreamOptions, writeStream, type WriteStreamOptions } from "./streams.ts";
import type { CopyOptions, CopyResult } from "./copy/copy_options.ts";
import type { DownloadOptions, TransferResult, UploadOptions } from "./transfer.ts";
import { FileWatch, type WatchOptions } from "./watch.ts";

/** Files up to this size travel in one message: their base64 is far below the largest frame. */
const SINGLE_MESSAGE_BYTES = 4 * 1024 * 1024;
const WALK_BOUNDS = { maxDepth: 64, maxDirectories: 10_000, maxEntries: 50_000 };

/**
 * The files of a box. Paths are absolute; failures throw a `ServerError`, whose `isNotFound` says whether the path does
 * not exist.
 *
 * ```ts
 * const files: DevboxFiles = box.fs;
 * await files.writeTextFile("/work/notes.txt", "hello", { atomic: true });
 * for await (const chunk of files.readStream("/work/notes.txt")) console.log(chunk.length);
 * ```
 */
export class DevboxFiles {
  readonly #session: Session;

  /** For this library: use `box.fs`. */
  constructor(session: Session) {
    this.#session = session;
  }

  /** The files, used with these options: the same interface that the server's own code has. */
  #files(options: FileOptions): RemoteFileSystem {
    return new RemoteFileSystem(this.#session, { ...confinement(options), signal: options.signal });
  }

  // ---------------------------------------------------------------- content

  /** The content of a file, or a part of it. */
  async readFile(path: BoxPath, options: ReadOptions = {}): Promise<Uint8Array<ArrayBuffer>> {
    const { offset, length } = options;
    if (!this.#session.has("fsReadRange")) return await this.readStream(path, options).bytes();
    const first = Math.min(length ?? Infinity, SINGLE_MESSAGE_BYTES);
    const request = { path: uriOf(path), ...links(options), offset: offset ?? 0, length: first };
    const bytes = await this.#files(options).content(request);
    // A long file comes in blocks, and stays open meanwhile.
    const isWhole = bytes.length < first || first === length;
    return isWhole ? bytes : await this.readStream(path, options).bytes();
  }

  /** The content of a file as text. */
  async readTextFile(path: BoxPath, options: ReadOptions = {}): Promise<string> {
    return new TextDecoder().decode(await this.readFile(path, options));
  }

  /** Writes a whole file. */
  async writeFile(path: BoxPath, data: Uint8Array | string, options: WriteOptions = {}): Promise<void> {
    const bytes = typeof data === "string" ? new TextEncoder().encode(data) : data;
    if (bytes.length > SINGLE_MESSAGE_BYTES) return await this.#writeLong(path, bytes, options);
    const { atomic = false, breakHardLinks = false, ifMatch = null, mode = null } = options;
    await this.#files(options).writeFile({
      path: uriOf(path),
      data: bytes as Uint8Array<ArrayBuffer>,
      ...links(options),
      atomic,
      breakHardLinks,
      ifMatch,
      mode,
    });
  }

  /** In blocks, directly into the file, as for short ones. With `atomic` into another one, which is then renamed. */
  async #writeLong(path: BoxPath, bytes: Uint8Array, options: WriteOptions): Promise<void> {
    const { atomic, ifMatch, mode, signal } = options;
    if (ifMatch !== undefined) {
      const message = `cannot write ${bytes.length} bytes on a condition: at most ${SINGLE_MESSAGE_BYTES} can be`;
      throw new ServerError("fs/writeFile", ERROR_CODES.invalidRequest, message);
    }
    const { sandbox } = confinement(options);
    if (atomic === true) {
      const writer = writeStream(this.#session, uriOf(path), { mode, signal, sandbox }).getWriter();
      await writer.write(bytes);
      return await writer.close();
    }
    const { followSymlinks } = options;
    const file = new FileHandle({
      session: this.#session,
      path: uriOf(path),
      mode: "replace",
      sandbox,
      followSymlinks,
      signal,
    });
    try {
      for (let at = 0; at < bytes.length; at += BLOCK_BYTES) await file.write(at, bytes.subarray(at, at + BLOCK_BYTES));
    } finally {
      await file.close();
    }
    if (mode !== undefined) await this.chmod(path, mode, options);
  }

  /** Writes a text. */
  async writeTextFile(path: BoxPath, text: string, options: WriteOptions = {}): Promise<void> {
    await this.writeFile(path, text, options);
  }

  /** The content of a file as a stream, with `text()` and `lines()`. Goes on after a lost connection. */
  readStream(path: BoxPath, options: ReadOptions = {}): OutputStream {
    const { offset, length, signal, followSymlinks } = options;
    const { sandbox } = confinement(options);
    const given: ReadStreamOptions = { offset, length, signal, sandbox, followSymlinks };
    return readStream(this.#session, uriOf(path), given);
  }

  /** A stream into a file. The file appears, or is replaced, when the stream is closed; aborting it changes nothing. */
  writeStream(
    path: BoxPath,
    options: FileOptions & Pick<WriteOptions, "mode"> = {},
  ): WritableStream<Uint8Array | string> {
    const { mode, signal } = options;
    const given: WriteStreamOptions = { mode, signal, sandbox: confinement(options).sandbox };
    return writeStream(this.#session, uriOf(path), given);
  }

  // ---------------------------------------------------------------- looking

  /** What is at a path. Everything is about what a link leads to, except `isSymlink`. */
  async stat(
    path: BoxPath,
    options: FileOptions & LinkOptions & { readonly fields?: readonly string[] | undefined } = {},
  ): Promise<FileInfo> {
    // The server decides about names that this library does not know.
    const fields = (options.fields ?? []) as readonly MetadataField[];
    return await this.#files(options).getMetadata({ path: uriOf(path), ...links(options), fields });
  }

  /** Whether there is something at a path. */
  async exists(path: BoxPath, options: FileOptions = {}): Promise<boolean> {
    try {
      await this.stat(path, options);
      return true;
    } catch (error) {
      if (error instanceof ServerError && error.isNotFound) return false;
      throw error;
    }
  }

  /** The path without links, `.` and `..`. */
  async realPath(path: BoxPath, options: FileOptions = {}): Promise<string> {
    const found = await this.#files(options).canonicalize(uriOf(path));
    return typeof found === "string" ? found : toFileUri(found);
  }

  /** The names in a directory, and what each leads to. */
  async readDir(path: BoxPath, options: FileOptions = {}): Promise<DirectoryEntry[]> {
    return await this.#files(options).readDirectory(uriOf(path));
  }

  /** The names in a directory with kind, size, mode and time of each. A link is described itself, with its target. */
  async list(path: BoxPath, options: FileOptions = {}): Promise<ListedEntry[]> {
    if (!this.#session.has("fsList")) return await this.#listOneByOne(path, options);
    const entries = await this.#files(options).list(uriOf(path));
    return entries.map(({ fileName, ...entry }) => ({ name: fileName, ...entry }));
  }

  /** For servers without `fs/list`. They do not tell the targets of links, so these are left out. */
  async #listOneByOne(path: BoxPath, options: FileOptions): Promise<ListedEntry[]> {
    const entries = await this.readDir(path, options);
    const fields = ["mode", "uid", "gid", "nlink"];
    const listed = await Promise.all(entries.map(async ({ fileName: name }): Promise<ListedEntry> => {
      const info = await this.stat(joinPath(pathOf(uriOf(path)), name), { ...options, fields });
      const kind = info.isSymlink ? "symlink" : info.isDirectory ? "directory" : info.isFile ? "file" : "other";
      const { size, modifiedAtMs, mode = null, uid = null, gid = null, nlink = null } = info;
      return { name, kind, size, modifiedAtMs, mode, uid, gid, nlink };
    }));
    return listed;
  }

  /** Files and directories below a path, within bounds. */
  async walk(path: BoxPath, options: WalkOptions = {}): Promise<WalkResult> {
    const { maxDepth = WALK_BOUNDS.maxDepth, maxEntries = WALK_BOUNDS.maxEntries } = options;
    const { entries, errors, truncated } = await this.#files(options).walk({
      path: uriOf(path),
      options: {
        ...WALK_BOUNDS,
        maxDepth,
        maxEntries,
        followDirectorySymlinks: options.followDirectorySymlinks ?? false,
        pruneHiddenDirectories: options.pruneHiddenDirectories ?? false,
      },
    });
    return {
      entries: entries.map(({ path, kind }) => ({ path: pathOf(path), kind })),
      errors: errors.map(({ path, message }) => ({ path: pathOf(path), message })),
      truncated,
    };
  }

  /**
   * Changes at a path, and with `recursive` below it, until the loop is left. Resolves once every later change will be
   * reported.
   */
  async watch(path: BoxPath, options: FileOptions & WatchOptions = {}): Promise<FileWatch> {
    const { recursive, debounceMs, signal } = options;
    const { sandbox } = confinement(options);
    return await FileWatch.open(this.#session, uriOf(path), { recursive, debounceMs, signal, sandbox });
  }

  // ---------------------------------------------------------------- changing names

  /** Makes a directory, and those above it unless `recursive` is false. */
  async mkdir(path: BoxPath, options: FileOptions & { readonly recursive?: boolean | undefined } = {}): Promise<void> {
    const { recursive = true } = options;
    await this.#files(options).createDirectory({ path: uriOf(path), recursive, followSymlinks: true });
  }

  /**
   * Removes a file, a link, or a directory with all that is in it. A missing path is only an error if `force` is false.
   */
  async remove(
    path: BoxPath,
    options: FileOptions & { readonly recursive?: boolean | undefined; readonly force?: boolean | undefined } = {},
  ): Promise<void> {
    const { recursive = true, force = true } = options;
    await this.#files(options).remove({ path: uriOf(path), recursive, force, followSymlinks: true });
  }

  /** Copies a file, a link, or a directory with all that is in it. */
  async copy(
    from: BoxPath,
    to: BoxPath,
    options: FileOptions & { readonly recursive?: boolean | undefined } = {},
  ): Promise<void> {
    const { recursive = true } = options;
    await this.#files(options).copy({ sourcePath: uriOf(from), destinationPath: uriOf(to), recursive });
  }

  /** Renames within one filesystem. What is at the destination is only replaced with `overwrite`. */
  async rename(
    from: BoxPath,
    to: BoxPath,
    options: FileOptions & { readonly overwrite?: boolean | undefined } = {},
  ): Promise<void> {
    const { overwrite = false } = options;
    await this.#files(options).rename({ sourcePath: uriOf(from), destinationPath: uriOf(to), overwrite });
  }

  /** Sets permission, set-id and sticky bits. */
  async chmod(path: BoxPath, mode: number, options: FileOptions & LinkOptions = {}): Promise<void> {
    await this.#files(options).chmod({ path: uriOf(path), mode, ...links(options) });
  }

  /** Sets the time of modification, in milliseconds since 1970. */
  async setTimes(path: BoxPath, modifiedAtMs: number, options: FileOptions & LinkOptions = {}): Promise<void> {
    await this.#files(options).setTimes({ path: uriOf(path), modifiedAtMs, ...links(options) });
  }

  /** Makes a link at a path. The target is taken literally. */
  async symlink(target: string, path: BoxPath, options: FileOptions = {}): Promise<void> {
    await this.#files(options).symlink({ path: uriOf(path), target });
  }

  // ---------------------------------------------------------------- to and from the box

  /** Copies a file or directory of this machine to the box. It appears there when all of it has arrived. */
  async upload(from: string | URL, to: BoxPath, options: UploadOptions = {}): Promise<TransferResult> {
    const { upload } = await import("./transfer.ts");
    return await upload(this, String(from), pathOf(uriOf(to)), options);
  }

  /** Copies a file or directory of the box to this machine. It appears here when all of it has arrived. */
  async download(from: BoxPath, to: string | URL, options: DownloadOptions = {}): Promise<TransferResult> {
    const { download } = await import("./transfer.ts");
    return await download(this, pathOf(uriOf(from)), String(to), options);
  }

  /**
   * Merges a file or a tree of this machine into what is on the box: many files at once, each of which appears when it
   * is complete. Modes, times and links are kept. The result lists what could not be copied; everything else is copied.
   */
  async put(from: string, to: BoxPath, options: CopyOptions = {}): Promise<CopyResult> {
    const { put } = await import("./copy/put.ts");
    return await put(this.#session, from, pathOf(uriOf(to)), options);
  }

  /** The other way round: merges a file or a tree of the box into what is on this machine. */
  async get(from: BoxPath, to: string, options: CopyOptions = {}): Promise<CopyResult> {
    const { get } = await import("./copy/get.ts");
    return await get({ session: this.#session, files: this }, pathOf(uriOf(from)), to, options);
  }
}
