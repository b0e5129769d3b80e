/**
 * One copy under way: what has been done and what has failed, and how much may be under way at once.
 *
 * A failure of one file is noted, and the others go on. A failure of the connection ends the copy, and so does the
 * caller's signal.
 */

import { messageOf } from "../../../errors.ts";
import { abortedBy, ClientError, ServerError } from "../../errors.ts";
import { type IgnoreTest, ignoreTest } from "../ignore_rules.ts";
import type { CopyFailure, CopyOptions, CopyResult } from "./copy_options.ts";

/** Files under way at once: enough for a long way, and few enough for the server's bounds on requests. */
const MAX_FILES = 64;
/** How many bytes of them. All of these are in memory, here and on the way. */
const MAX_BYTES = 8 * 1024 * 1024;

/** Read and written at once. */
export const SMALL_FILE_BYTES: number = 512 * 1024;
/** One block of a larger file: as base64 it is well below the largest frame. */
export const COPY_BLOCK_BYTES: number = 512 * 1024;
/** Blocks of one file under way at once. */
export const BLOCKS_UNDER_WAY = 8;

/** Owners are not copied, so a set-id bit would be somebody else's. */
export const KEPT_MODE_BITS = 0o1777;

/** See the head of the module. */
export class CopyRun {
  readonly isIgnored: IgnoreTest;
  readonly sync: boolean;
  readonly signal: AbortSignal;
  readonly #options: CopyOptions;
  readonly #stop = new AbortController();
  readonly #tasks = new Set<Promise<void>>();
  readonly #skipped: string[] = [];
  readonly #failures: CopyFailure[] = [];
  #waiting: (() => void)[] = [];
  #openFiles = 0;
  #openBytes = 0;
  #fatal: unknown = null;
  #files = 0;
  #bytes = 0;
  #directories = 0;
  #links = 0;
  #totalFiles = 0;
  #totalBytes = 0;

  constructor(options: CopyOptions) {
    this.#options = options;
    this.isIgnored = ignoreTest(options.ignore ?? []);
    this.sync = options.sync ?? false;
    const { signal } = options;
    this.signal = signal === undefined ? this.#stop.signal : AbortSignal.any([signal, this.#stop.signal]);
  }

  /** Throws when nothing more should begin. */
  check(): void {
    if (this.#fatal !== null) throw this.#fatal;
    const { signal } = this.#options;
    if (signal?.aborted) throw abortedBy(signal, "copying");
  }

  /** Begins something once there is room for it. A failure is noted, unless it ends the whole copy. */
  async start(path: string, bytes: number, work: () => Promise<void>): Promise<void> {
    while (this.#openFiles > 0 && (this.#openFiles >= MAX_FILES || this.#openBytes + bytes > MAX_BYTES)) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
    this.check();
    this.#openFiles++;
    this.#openBytes += bytes;
    const task = this.attempt(path, work).finally(() => {
      this.#openFiles--;
      this.#openBytes -= bytes;
      this.#tasks.delete(task);
      for (const wake of this.#waiting.splice(0)) wake();
    });
    this.#tasks.add(task);
  }

  /** Does something at once. False: it failed, and the failure is noted. */
  async attempt(path: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.fail(path, error);
    }
  }

  /** Waits for everything that was begun. Throws the failure that ended the whole copy. */
  async finish(): Promise<void> {
    while (this.#tasks.size > 0) await Promise.allSettled([...this.#tasks]);
    this.check();
  }

  fail(path: string, error: unknown): void {
    if (!(error instanceof ServerError) && (error instanceof ClientError || this.signal.aborted)) {
      this.#fatal ??= error;
      this.#stop.abort();
      return;
    }
    this.#failures.push({ path, message: messageOf(error) });
  }

  skip(path: string): void {
    this.#skipped.push(path);
  }

  found(bytes: number): void {
    this.#totalFiles++;
    this.#totalBytes += bytes;
  }

  moved(path: string, bytes: number): void {
    this.#bytes += bytes;
    this.#tell(path);
  }

  fileDone(path: string): void {
    this.#files++;
    this.#tell(path);
  }

  directoryDone(): void {
    this.#directories++;
  }

  linkDone(): void {
    this.#links++;
  }

  #tell(path: string): void {
    this.#options.onProgress?.({
      path,
      files: this.#files,
      bytes: this.#bytes,
      totalFiles: this.#totalFiles,
      totalBytes: this.#totalBytes,
    });
  }

  result(): CopyResult {
    return {
      files: this.#files,
      bytes: this.#bytes,
      directories: this.#directories,
      links: this.#links,
      skipped: this.#skipped,
      failures: this.#failures,
    };
  }
}

/** An unused name in the same directory. Names have 255 bytes at most, and characters up to four. */
export function partName(name: string): string {
  return `.${[...name].slice(0, 40).join("")}.${crypto.randomUUID().slice(0, 8)}.part`;
}
