/** A file held open for blocks. It is closed only when no block uses it any more. */

import { internalError } from "../errors.ts";
import type { OpenFile } from "./file_system.ts";

/** How blocks are read and written, and how the file is closed. Nothing is called after `close`. */
export interface BlockAccess {
  readBlock(offset: number, length: number): Promise<Uint8Array<ArrayBuffer>>;
  writeBlock(offset: number, bytes: Uint8Array<ArrayBuffer>): Promise<void>;
  close(): Promise<void> | void;
}

export class HeldFile implements OpenFile {
  readonly #access: BlockAccess;
  /** Blocks under way. The descriptor stays open for them, because its number would be reused at once. */
  #users = 0;
  #closing: Promise<void> | null = null;
  #allDone: (() => void) | null = null;

  constructor(access: BlockAccess) {
    this.#access = access;
  }

  readBlock(offset: number, length: number): Promise<Uint8Array<ArrayBuffer>> {
    return this.#use(() => this.#access.readBlock(offset, length));
  }

  writeBlock(offset: number, bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    return this.#use(() => this.#access.writeBlock(offset, bytes));
  }

  close(): Promise<void> {
    return this.#closing ??= this.#close();
  }

  async #close(): Promise<void> {
    if (this.#users > 0) await new Promise<void>((resolve) => this.#allDone = resolve);
    await this.#access.close();
  }

  async #use<Value>(work: () => Promise<Value>): Promise<Value> {
    if (this.#closing !== null) throw internalError("file handle is being closed");
    this.#users++;
    try {
      return await work();
    } finally {
      if (--this.#users === 0) this.#allDone?.();
    }
  }
}
