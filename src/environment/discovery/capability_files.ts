/**
 * The files of one capability root, read within bounds. What cannot be read is left out and listed among the warnings;
 * a missing file is not worth a warning.
 */

import { DomainError } from "../../errors.ts";
import type { FileSystem } from "../../fs/file_system.ts";
import { parsePath } from "../../path_uri.ts";
import type { CapabilityFileField } from "../../protocol/capability_discovery.ts";
import { MAX_CAPABILITY_BUNDLE_BYTES, MAX_CAPABILITY_FILE_BYTES } from "../limits.ts";
import { decodeUtf8, readStart } from "../local_files.ts";

/** Bytes that may still be answered, shared by several readers. */
export class ByteBudget {
  readonly maxBytes: number;
  #used = 0;

  constructor(maxBytes: number) {
    this.maxBytes = maxBytes;
  }

  has(bytes: number): boolean {
    return this.#used + bytes <= this.maxBytes;
  }

  take(bytes: number): void {
    this.#used += bytes;
  }
}

export class CapabilityFiles {
  readonly warnings: string[] = [];
  readonly #files: FileSystem;
  readonly #answerBudget: ByteBudget;
  readonly #rootBudget = new ByteBudget(MAX_CAPABILITY_BUNDLE_BYTES);
  readonly #signal: AbortSignal | undefined;

  constructor(files: FileSystem, answerBudget: ByteBudget, signal?: AbortSignal) {
    this.#files = files;
    this.#answerBudget = answerBudget;
    this.#signal = signal;
  }

  /** Null when there is no such file, or it had to be left out. The texts of the warnings are the reference's. */
  async read(uri: string): Promise<CapabilityFileField | null> {
    const path = parsePath(uri).native;
    const signal = this.#signal;
    signal?.throwIfAborted();
    try {
      const { isFile, size } = await this.#files.getMetadata({ path, followSymlinks: true, fields: [] }, signal);
      if (!isFile || !this.#hasRoomFor(uri, size)) return null;
    } catch (error) {
      return this.#warn("inspect", uri, error);
    }
    let bytes: Uint8Array<ArrayBuffer>;
    try {
      bytes = await readStart(this.#files, path, MAX_CAPABILITY_FILE_BYTES, signal);
    } catch (error) {
      return this.#warn("read", uri, error);
    }
    // It may have grown since it was looked at, or another root may have used up the room.
    if (!this.#hasRoomFor(uri, bytes.length)) return null;
    const contents = decodeUtf8(bytes);
    if (contents === null) {
      this.warnings.push(`capability file ${uri} is not UTF-8`);
      return null;
    }
    this.#rootBudget.take(bytes.length);
    this.#answerBudget.take(bytes.length);
    return { path: uri, contents };
  }

  #hasRoomFor(uri: string, bytes: number): boolean {
    if (bytes > MAX_CAPABILITY_FILE_BYTES) {
      this.warnings.push(`capability file ${uri} exceeds the ${MAX_CAPABILITY_FILE_BYTES}-byte limit`);
      return false;
    }
    for (const [budget, what] of [[this.#rootBudget, "root bundle"], [this.#answerBudget, "answer"]] as const) {
      if (budget.has(bytes)) continue;
      this.warnings.push(`capability ${what} exceeds the ${budget.maxBytes}-byte limit`);
      return false;
    }
    return true;
  }

  #warn(attempt: "inspect" | "read", uri: string, error: unknown): null {
    if (!(error instanceof DomainError)) throw error;
    if (error.kind !== "notFound") {
      this.warnings.push(`failed to ${attempt} capability file ${uri}: ${error.message}`);
    }
    return null;
  }
}
