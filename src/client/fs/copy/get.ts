/**
 * Files and trees of the box, merged into what is on this machine. As `put`, the other way round.
 *
 * Names come from the box and are not trusted: none leads out of the directory that is copied to, also not through a
 * link that the box has sent.
 */

import type * as NodeFs from "node:fs";
import type * as NodePath from "node:path";
import { decodeBase64 } from "../../base64.ts";
import { ServerError } from "../../errors.ts";
import type { Session } from "../../session/session.ts";
import type { DevboxFiles } from "../devbox_files.ts";
import { FileHandle } from "../file_handle.ts";
import type { ListedEntry } from "../file_options.ts";
import { joinPath, uriOf } from "../paths.ts";
import type { CopyOptions, CopyResult } from "./copy_options.ts";
import { BLOCKS_UNDER_WAY, COPY_BLOCK_BYTES, CopyRun, KEPT_MODE_BITS, partName, SMALL_FILE_BYTES } from "./copy_run.ts";
import { allBlocks, inParallel } from "./in_parallel.ts";

/** How often a file is read again because it changed meanwhile. */
const MAX_ATTEMPTS = 3;

/** What is known of the source. */
type Facts = Pick<ListedEntry, "size" | "modifiedAtMs"> & { readonly mode: number | null };

interface Source {
  readonly session: Session;
  readonly files: DevboxFiles;
}

/** See `DevboxFiles.get`. A link that is named itself is followed; those below are copied as links. */
export async function get(
  source: Source,
  from: string,
  to: string,
  options: CopyOptions,
): Promise<CopyResult> {
  const [fs, path] = await Promise.all([import("node:fs"), import("node:path")]);
  const run = new CopyRun(options);
  const getting = new Getting(source, { fs, path }, run);
  const info = await source.files.stat(from, { fields: ["mode"], signal: options.signal });
  const facts = { size: info.size, modifiedAtMs: info.modifiedAtMs, mode: info.mode ?? null };
  if (info.isDirectory) await getting.directory({ from, to, path: "", facts });
  else if (info.isFile) await getting.file({ from, to, path: "", facts });
  else run.skip("");
  await run.finish();
  getting.finishDirectories();
  return run.result();
}

interface Entry {
  readonly from: string;
  readonly to: string;
  readonly path: string;
  readonly facts: Facts;
}

class Getting {
  readonly #source: Source;
  readonly #fs: typeof NodeFs;
  readonly #path: typeof NodePath;
  readonly #run: CopyRun;
  /** Their modes and times are set when all is in them. */
  readonly #directories: Entry[] = [];

  constructor(source: Source, local: { fs: typeof NodeFs; path: typeof NodePath }, run: CopyRun) {
    this.#source = source;
    this.#fs = local.fs;
    this.#path = local.path;
    this.#run = run;
  }

  async directory(entry: Entry): Promise<void> {
    const { from, to, path } = entry;
    // Listed in advance: the next directory is listed while files of this one are under way.
    let listed: ListedEntry[];
    try {
      this.#makeDirectory(to, path);
      listed = await this.#source.files.list(from, { signal: this.#run.signal });
    } catch (error) {
      return this.#run.fail(path, error);
    }
    this.#directories.push(entry);
    this.#run.directoryDone();
    const seen = new Set<string>();
    const below: Entry[] = [];
    for (const item of listed) {
      this.#run.check();
      const { name } = item;
      const relative = path === "" ? name : `${path}/${name}`;
      if (this.#run.isIgnored(relative, item.kind === "directory")) continue;
      const problem = nameProblem(name, seen);
      if (problem !== null) {
        this.#run.fail(relative, new Error(problem));
        continue;
      }
      const next = { from: joinPath(from, name), to: `${to}/${name}`, path: relative, facts: item };
      if (item.kind === "directory") below.push(next);
      else if (item.kind === "file") await this.file(next);
      else if (item.kind === "symlink" && item.target !== undefined) this.#link(next, item.target);
      else this.#run.skip(relative);
    }
    await this.#several(below);
  }

  /** A few directories are listed in advance, so that a slow line costs little time. */
  async #several(entries: readonly Entry[]): Promise<void> {
    const queue = entries.values();
    const worker = async () => {
      for (const entry of queue) await this.directory(entry);
    };
    await inParallel(worker, Math.min(DIRECTORIES_AHEAD, entries.length));
  }

  #makeDirectory(to: string, path: string): void {
    const found = this.#fs.lstatSync(to, { throwIfNoEntry: false });
    // Only what the user has named may be a link: one below may have come from the box just now.
    if (found === undefined) this.#fs.mkdirSync(to, { recursive: path === "" });
    else if (path === "" ? !this.#fs.statSync(to).isDirectory() : !found.isDirectory()) {
      throw new Error(`${to} exists and is not a directory`);
    }
  }

  async file(entry: Entry): Promise<void> {
    const { path, facts } = entry;
    this.#run.found(facts.size);
    const isSmall = facts.size <= SMALL_FILE_BYTES;
    const bytes = isSmall ? facts.size : BLOCKS_UNDER_WAY * COPY_BLOCK_BYTES;
    await this.#run.start(path, bytes, async () => {
      if (!isSmall || !await this.#small(entry)) await this.#large(entry);
      this.#run.fileDone(path);
    });
  }

  /** False: it has grown meanwhile. */
  async #small(entry: Entry): Promise<boolean> {
    const { session } = this.#source;
    if (!session.has("fsReadRange")) return false;
    const params = { path: uriOf(entry.from), length: SMALL_FILE_BYTES + 1 };
    const { dataBase64 } = await session.call("fs/readFile", params, { signal: this.#run.signal });
    const bytes = decodeBase64(dataBase64);
    if (bytes.length > SMALL_FILE_BYTES) return false;
    const part = this.#partOf(entry.to);
    const fd = this.#fs.openSync(part, "wx", 0o600);
    try {
      try {
        for (let at = 0; at < bytes.length;) at += this.#fs.writeSync(fd, bytes, at);
        this.#dress(fd, entry);
      } finally {
        this.#fs.closeSync(fd);
      }
      this.#fs.renameSync(part, entry.to);
    } catch (error) {
      this.#fs.rmSync(part, { force: true });
      throw error;
    }
    this.#run.moved(entry.path, bytes.length);
    return true;
  }

  async #large(entry: Entry): Promise<void> {
    for (let attempt = 1;; attempt++) {
      try {
        return await this.#blocks(entry);
      } catch (error) {
        const hasChanged = error instanceof ServerError && /has changed while/.test(error.message);
        if (!hasChanged || attempt === MAX_ATTEMPTS) throw error;
      }
    }
  }

  async #blocks(entry: Entry): Promise<void> {
    const part = this.#partOf(entry.to);
    const handle = new FileHandle({
      session: this.#source.session,
      path: uriOf(entry.from),
      mode: "read",
      sandbox: undefined,
      followSymlinks: undefined,
      signal: this.#run.signal,
    });
    const fd = this.#fs.openSync(part, "wx", 0o600);
    let isOpen = true;
    let moved = 0;
    try {
      await allBlocks(async (offset) => {
        const bytes = await handle.read(offset, COPY_BLOCK_BYTES);
        // Synchronous: Deno seeks before it writes, and another worker must not seek in between.
        for (let at = 0; at < bytes.length;) {
          at += this.#fs.writeSync(fd, bytes, at, bytes.length - at, offset + at);
        }
        moved += bytes.length;
        this.#run.moved(entry.path, bytes.length);
        return bytes.length;
      });
      this.#dress(fd, entry);
      isOpen = false;
      this.#fs.closeSync(fd);
      this.#fs.renameSync(part, entry.to);
    } catch (error) {
      this.#run.moved(entry.path, -moved);
      if (isOpen) this.#fs.closeSync(fd);
      this.#fs.rmSync(part, { force: true });
      throw error;
    } finally {
      await handle.close();
    }
  }

  /** Sets mode and time. Writes to the device if that was asked for. */
  #dress(fd: number, { facts }: Entry): void {
    const mode = facts.mode === null ? 0o666 & ~this.#umask() : facts.mode & KEPT_MODE_BITS;
    this.#fs.fchmodSync(fd, mode);
    const seconds = secondsOf(facts);
    this.#fs.futimesSync(fd, seconds, seconds);
    if (this.#run.sync) this.#fs.fsyncSync(fd);
  }

  #umask(): number {
    return (globalThis as { process?: { umask(): number } }).process?.umask() ?? 0o022;
  }

  #link({ to, path }: Entry, target: string): void {
    try {
      const found = this.#fs.lstatSync(to, { throwIfNoEntry: false });
      if (found === undefined) this.#fs.symlinkSync(target, to);
      else if (found.isDirectory()) throw new Error(`${to} is a directory here, and a link on the box`);
      else {
        const part = this.#partOf(to);
        this.#fs.symlinkSync(target, part);
        this.#fs.renameSync(part, to);
      }
      this.#run.linkDone();
    } catch (error) {
      this.#run.fail(path, error);
    }
  }

  #partOf(to: string): string {
    return `${this.#path.dirname(to)}/${partName(this.#path.basename(to))}`;
  }

  finishDirectories(): void {
    for (const { to, path, facts } of this.#directories.reverse()) {
      try {
        if (facts.mode !== null) this.#fs.chmodSync(to, facts.mode & KEPT_MODE_BITS);
        const seconds = secondsOf(facts);
        this.#fs.utimesSync(to, seconds, seconds);
      } catch (error) {
        this.#run.fail(path, error);
      }
    }
  }
}

/** With half a microsecond more: a fraction in binary must not fall below its millisecond. */
function secondsOf({ modifiedAtMs }: Facts): number {
  return (modifiedAtMs + 0.0005) / 1000;
}

/** How many directories of one level are listed at the same time. */
const DIRECTORIES_AHEAD = 4;

/** Why a name of the box cannot be used here; null: it can. */
function nameProblem(name: string, seen: Set<string>): string | null {
  if (name === "" || name === "." || name === ".." || /[/\0]/.test(name)) {
    return `the box sent the unsafe file name ${JSON.stringify(name)}`;
  }
  if (name.includes("\ufffd")) return "its name is not UTF-8, which this program cannot copy";
  if (seen.has(name)) return "the box sent this name twice";
  seen.add(name);
  return null;
}
