/**
 * The files of one capability root, read within bounds. What cannot be read is left out and listed among the warnings;
 * a missing file is not worth a warning.
 */

import { DomainError } from "../../errors.ts";
import type { FileSystem } from "../../fs/file_system.ts";
import { type NativePath, parsePath } from "../../path_uri.ts";
import type { CapabilityFileField } from "../../protocol/capability_discovery.ts";
import {
  MAX_CAPABILITY_ANSWER_BYTES,
  MAX_CAPABILITY_BUNDLE_BYTES,
  MAX_CAPABILITY_FILE_BYTES,
  MAX_CAPABILITY_NAMES_BYTES,
} from "../limits.ts";
import { decodeUtf8, readStart } from "../local_files.ts";
import type { Room } from "./answer_room.ts";

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

/** What several readers may put into one answer. */
export class AnswerBounds {
  readonly contents = new ByteBudget(MAX_CAPABILITY_ANSWER_BYTES);
  /** Paths and warnings. */
  readonly names = new ByteBudget(MAX_CAPABILITY_NAMES_BYTES);
  readonly room: Room;
  /** Something was left out, and for want of names there is no warning of it. */
  hasSilentLoss = false;

  constructor(room: Room) {
    this.room = room;
  }
}

/** What is held of a file when it is answered: its text, and the answer that is made of it. */
const TIMES_HELD = 2;

export class CapabilityFiles {
  readonly warnings: string[] = [];
  readonly #files: FileSystem;
  readonly #bounds: AnswerBounds;
  readonly #rootBudget = new ByteBudget(MAX_CAPABILITY_BUNDLE_BYTES);
  readonly #signal: AbortSignal | undefined;

  constructor(files: FileSystem, bounds: AnswerBounds, signal?: AbortSignal) {
    this.#files = files;
    this.#bounds = bounds;
    this.#signal = signal;
  }

  /** Warnings beyond the bound are left out. */
  warn(text: string): void {
    const { names, room } = this.#bounds;
    if (!names.has(text.length)) {
      this.#bounds.hasSilentLoss = true;
      return;
    }
    names.take(text.length);
    room.take(TIMES_HELD * text.length);
    this.warnings.push(text);
  }

  /** Nothing of these files is held any more. */
  release(files: readonly (CapabilityFileField | null)[]): void {
    for (const file of files) if (file !== null) this.#bounds.room.give(heldBytes(file.path, file.contents.length));
  }

  /** Null when there is no such file, or it had to be left out. The texts of the warnings are the reference's. */
  async read(uri: string): Promise<CapabilityFileField | null> {
    const path = parsePath(uri).native;
    const signal = this.#signal;
    signal?.throwIfAborted();
    let expected: number;
    try {
      const { isFile, size } = await this.#files.getMetadata({ path, followSymlinks: true, fields: [] }, signal);
      if (!isFile || !this.#hasRoomFor(uri, size)) return null;
      expected = size;
    } catch (error) {
      return this.#failed("inspect", uri, error);
    }
    const { room } = this.#bounds;
    let held = heldBytes(uri, expected);
    room.take(held);
    const file = await this.#readText(uri, path).finally(() => room.give(held));
    if (file === null) return null;
    held = heldBytes(uri, file.contents.length);
    room.take(held);
    return file;
  }

  async #readText(uri: string, path: NativePath): Promise<CapabilityFileField | null> {
    let bytes: Uint8Array<ArrayBuffer>;
    try {
      bytes = await readStart(this.#files, path, MAX_CAPABILITY_FILE_BYTES, this.#signal);
    } catch (error) {
      return this.#failed("read", uri, error);
    }
    // It may have grown since it was looked at, or another root may have used up the room.
    if (!this.#hasRoomFor(uri, bytes.length)) return null;
    const contents = decodeUtf8(bytes);
    if (contents === null) {
      this.warn(`capability file ${uri} is not UTF-8`);
      return null;
    }
    this.#rootBudget.take(bytes.length);
    this.#bounds.contents.take(bytes.length);
    this.#bounds.names.take(uri.length);
    return { path: uri, contents };
  }

  #hasRoomFor(uri: string, bytes: number): boolean {
    if (bytes > MAX_CAPABILITY_FILE_BYTES) {
      this.warn(`capability file ${uri} exceeds the ${MAX_CAPABILITY_FILE_BYTES}-byte limit`);
      return false;
    }
    // Then there is no room for a warning either.
    if (!this.#bounds.names.has(uri.length)) {
      this.#bounds.hasSilentLoss = true;
      return false;
    }
    for (const [budget, what] of [[this.#rootBudget, "root bundle"], [this.#bounds.contents, "answer"]] as const) {
      if (budget.has(bytes)) continue;
      this.warn(`capability ${what} exceeds the ${budget.maxBytes}-byte limit`);
      return false;
    }
    return true;
  }

  #failed(attempt: "inspect" | "read", uri: string, error: unknown): null {
    if (!(error instanceof DomainError)) throw error;
    if (error.kind !== "notFound") this.warn(`failed to ${attempt} capability file ${uri}: ${error.message}`);
    return null;
  }
}

function heldBytes(path: string, length: number): number {
  return TIMES_HELD * (path.length + length);
}
