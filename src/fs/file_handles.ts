/**
 * The file handles of one connection: ids chosen by the client, files opened for it, and their limits.
 *
 * An id is taken from the request to open until the file is closed. When the connection ends, every file is closed,
 * even those still being opened.
 */

import { type DomainError, invalidRequest, notFound } from "../errors.ts";
import type { OpenFile } from "./file_system.ts";
import { MAX_BLOCK_BYTES, MAX_HANDLE_ID_BYTES, MAX_HANDLES } from "./limits.ts";

export interface ReadBlock {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Fewer bytes came than were asked for. */
  readonly eof: boolean;
}

/** Null while the file is being opened. */
type Slot = { file: OpenFile | null };

const encoder = new TextEncoder();

/** The first offset that no file can have. */
const OFFSET_END = 2n ** 63n;

export class FileHandles {
  readonly #slots = new Map<string, Slot>();
  #isEnded = false;

  get size(): number {
    return this.#slots.size;
  }

  /** Takes the id and opens the file. The texts of refusals are the reference's. */
  async open(handleId: string, openFile: () => Promise<OpenFile>): Promise<void> {
    checkId(handleId);
    if (this.#slots.has(handleId)) throw invalidRequest(`file handle \`${handleId}\` already exists`);
    if (this.#slots.size >= MAX_HANDLES) {
      throw invalidRequest(`at most ${MAX_HANDLES} file handles may be open per connection`);
    }
    const slot: Slot = { file: null };
    this.#slots.set(handleId, slot);
    let file: OpenFile;
    try {
      file = await openFile();
    } catch (error) {
      this.#forget(handleId, slot);
      throw error;
    }
    // It was closed while it was being opened.
    if (this.#isEnded || this.#slots.get(handleId) !== slot) return await file.close();
    slot.file = file;
  }

  async readBlock(handleId: string, offset: number, length: number): Promise<ReadBlock> {
    checkId(handleId);
    checkBlock("read", length);
    const bytes = await this.#file(handleId).readBlock(offset, length);
    return { bytes, eof: bytes.length < length };
  }

  async writeBlock(handleId: string, offset: number, bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    checkId(handleId);
    checkBlock("write", bytes.length);
    if (BigInt(offset) + BigInt(bytes.length) > OFFSET_END - 1n) {
      throw invalidRequest("file write range exceeds the signed 64-bit file offset limit");
    }
    await this.#file(handleId).writeBlock(offset, bytes);
  }

  /** An id that is not open counts as closed. */
  async close(handleId: string): Promise<void> {
    checkId(handleId);
    const slot = this.#slots.get(handleId);
    if (slot === undefined) return;
    this.#slots.delete(handleId);
    await slot.file?.close();
  }

  /** The connection has ended. Resolves when the last block under way is done with its file. */
  async closeAll(): Promise<void> {
    this.#isEnded = true;
    const files = [...this.#slots.values()].map(({ file }) => file);
    this.#slots.clear();
    // If closing lost data, there is nobody left to tell.
    await Promise.allSettled(files.map((file) => file?.close()));
  }

  #file(handleId: string): OpenFile {
    const file = this.#slots.get(handleId)?.file;
    if (file === undefined || file === null) throw unknownHandle(handleId);
    return file;
  }

  #forget(handleId: string, slot: Slot): void {
    if (this.#slots.get(handleId) === slot) this.#slots.delete(handleId);
  }
}

function unknownHandle(handleId: string): DomainError {
  return notFound(`unknown file handle \`${handleId}\``);
}

function checkId(handleId: string): void {
  if (encoder.encode(handleId).length > MAX_HANDLE_ID_BYTES) {
    throw invalidRequest(`file handle ID must not exceed ${MAX_HANDLE_ID_BYTES} bytes`);
  }
}

function checkBlock(kind: "read" | "write", bytes: number): void {
  if (bytes < 1 || bytes > MAX_BLOCK_BYTES) {
    throw invalidRequest(`file ${kind} block length must be between 1 and ${MAX_BLOCK_BYTES}`);
  }
}
