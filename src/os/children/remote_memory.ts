/**
 * Strings and lists of strings in another process's memory, as they are passed to system calls.
 *
 * Reads whole pages, several at once, and asks for more until everything is there: two or three questions for the
 * arguments of a usual program. They are asked on another thread, because the other process chooses where its memory
 * comes from, and a file on a dead network mount would stop us. The memory may change at any time, so a copy shows only
 * what was there once.
 */

import { addressOf, allocate, type CBuffer, libcFunctions, whilePinned } from "../libc.ts";

const memoryFunctions = libcFunctions({
  /** On another thread: both lists of areas, and our buffer, belong to the call until its promise resolves. */
  process_vm_readv: {
    parameters: ["i32", "buffer", "usize", "buffer", "usize", "usize"],
    result: "i32",
    nonblocking: true,
  },
  /** The same on this thread, which waits meanwhile. */
  readNow: {
    name: "process_vm_readv",
    parameters: ["i32", "buffer", "usize", "buffer", "usize", "usize"],
    result: "i32",
  },
});

const PAGE_BYTES = 4096;
const POINTER_BYTES = 8;
const VECTOR_BYTES = 16;
/** The most pages in one question: the kernel takes no more areas. */
const MAX_PAGES_AT_ONCE = 1024;
/** The most pages that a long text is read ahead. The number doubles with each question. */
const MAX_PAGES_AHEAD = 256;

/** There is no such memory, or it is not ours to read. */
export class UnreadableMemoryError extends Error {
  override readonly name = "UnreadableMemoryError";
}

/** What was asked for is longer than the caller allows. */
export class MemoryTooLongError extends Error {
  override readonly name = "MemoryTooLongError";
}

/** What is to be read; a list ends with a null pointer. */
export interface StringOrder {
  readonly text: bigint;
  readonly lists: readonly bigint[];
  /** For all texts together. */
  readonly maxBytes: number;
}

export interface StringCopies {
  readonly text: Uint8Array<ArrayBuffer>;
  readonly lists: readonly (readonly Uint8Array<ArrayBuffer>[])[];
}

/**
 * Pages that a read of a similar process needed. Copies of one process have their memory in the same places, so asking
 * for these at once saves the second question.
 */
export interface PageHints {
  pages: readonly number[];
}

export interface RemoteMemoryOptions {
  readonly hints?: PageHints;
  /**
   * The process has its strings in private memory and in no file. So they are read on this thread, which is quicker.
   */
  readonly isPrivate?: boolean;
}

/** In pages: the arguments and environment of a usual program. */
const MAX_HINTS = 64;

export class RemoteMemory {
  readonly #pid: number;
  readonly #hints: PageHints | null;
  readonly #isPrivate: boolean;
  readonly #used = new Set<number>();
  readonly #pages = new Map<number, Uint8Array<ArrayBuffer>>();
  readonly #missing = new Set<number>();
  #wanted = new Set<number>();
  #round = 0;

  constructor(pid: number, { hints, isPrivate = false }: RemoteMemoryOptions = {}) {
    this.#pid = pid;
    this.#hints = hints ?? null;
    this.#isPrivate = isPrivate;
  }

  /**
   * @throws {UnreadableMemoryError}
   * @throws {MemoryTooLongError}
   */
  async read({ text, lists, maxBytes }: StringOrder): Promise<StringCopies> {
    const known = new Map<number, Uint8Array<ArrayBuffer>>();
    for (;; this.#round++) {
      this.#wanted = new Set();
      const bound = { left: maxBytes };
      const string = (pointer: number): Uint8Array<ArrayBuffer> | null => {
        const bytes = known.get(pointer) ?? this.#string(pointer, maxBytes);
        if (bytes === null) return null;
        known.set(pointer, bytes);
        bound.left -= bytes.length + POINTER_BYTES;
        if (bound.left < 0) throw new MemoryTooLongError("more than may be passed to a program");
        return bytes;
      };
      const first = string(Number(text));
      const all = lists.map((list) => this.#pointers(Number(list), maxBytes)?.map(string) ?? null);
      if (this.#wanted.size === 0) {
        if (this.#hints !== null) this.#hints.pages = [...this.#used].slice(0, MAX_HINTS);
        return { text: first!, lists: all.map((list) => list!.map((bytes) => bytes!)) };
      }
      // The hinted pages come after those that are needed, because the read stops at the first page that is not there.
      await this.#load([...this.#wanted], this.#round === 0 ? this.#hints?.pages ?? [] : []);
    }
  }

  #pointers(address: number, maxBytes: number): number[] | null {
    // Like the kernel, this takes a null pointer for an empty list.
    if (address === 0) return [];
    const found: number[] = [];
    for (let at = address;;) {
      if (at - address > maxBytes) throw new MemoryTooLongError("more than may be passed to a program");
      const bytes = this.#wholePointers(at);
      if (bytes === null) return null;
      const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
      for (let offset = 0; offset < bytes.length; offset += POINTER_BYTES) {
        // In two halves: numbers that are no BigInts are made in a tenth of the time.
        const pointer = view.getUint32(offset + 4, true) * 2 ** 32 + view.getUint32(offset, true);
        if (pointer === 0) return found;
        found.push(pointer);
      }
      at += bytes.length;
    }
  }

  /** Those from here to the end of the page; the one that crosses it, if none lies before. */
  #wholePointers(address: number): Uint8Array<ArrayBuffer> | null {
    const page = this.#page(address, false);
    if (page === null) return null;
    const start = address % PAGE_BYTES;
    const length = PAGE_BYTES - start - (PAGE_BYTES - start) % POINTER_BYTES;
    return length > 0 ? page.subarray(start, start + length) : this.#bytes(address, POINTER_BYTES);
  }

  #string(address: number, maxBytes: number): Uint8Array<ArrayBuffer> | null {
    const parts: Uint8Array<ArrayBuffer>[] = [];
    let length = 0;
    for (let at = address; length <= maxBytes;) {
      const page = this.#page(at, length > 0);
      if (page === null) return null;
      const rest = page.subarray(at % PAGE_BYTES);
      const end = rest.indexOf(0);
      parts.push(end < 0 ? rest : rest.subarray(0, end));
      length += parts.at(-1)!.length;
      if (end >= 0) return parts.length === 1 ? parts[0]! : joined(parts, length);
      at += rest.length;
    }
    throw new MemoryTooLongError("more than may be passed to a program");
  }

  /** A few bytes, which may lie on two pages. */
  #bytes(address: number, count: number): Uint8Array<ArrayBuffer> | null {
    const page = this.#page(address, false);
    if (page === null) return null;
    const rest = page.subarray(address % PAGE_BYTES, address % PAGE_BYTES + count);
    if (rest.length === count) return rest;
    const next = this.#page(address + rest.length, false);
    return next === null ? null : joined([rest, next.subarray(0, count - rest.length)], count);
  }

  #page(address: number, isContinued: boolean): Uint8Array<ArrayBuffer> | null {
    const start = address - address % PAGE_BYTES;
    const page = this.#pages.get(start);
    if (page !== undefined) {
      this.#used.add(start);
      return page;
    }
    if (this.#missing.has(start)) throw new UnreadableMemoryError(`no memory at ${address.toString(16)}`);
    const ahead = isContinued ? Math.min(2 ** this.#round, MAX_PAGES_AHEAD) : 1;
    for (let index = 0; index < ahead; index++) this.#wanted.add(start + index * PAGE_BYTES);
    return null;
  }

  async #load(wanted: readonly number[], hinted: readonly number[]): Promise<void> {
    const needed = wanted.filter((page) => !this.#pages.has(page) && !this.#missing.has(page));
    const isNeeded = new Set(needed);
    let rest = [...needed, ...hinted.filter((page) => !isNeeded.has(page))];
    while (rest.length > 0) {
      const asked = rest.slice(0, MAX_PAGES_AT_ONCE);
      const bytes = allocate(asked.length * PAGE_BYTES);
      const ours = vector([[addressOf(bytes), bytes.length]]);
      const theirs = vector(asked.map((page) => [BigInt(page), PAGE_BYTES]));
      const areas = BigInt(asked.length);
      const c = memoryFunctions();
      const count = this.#isPrivate
        ? c.readNow(this.#pid, ours, 1n, theirs, areas, 0n)
        : await whilePinned([bytes, ours, theirs], () => c.process_vm_readv(this.#pid, ours, 1n, theirs, areas, 0n));
      const whole = Math.max(0, Math.floor(count / PAGE_BYTES));
      asked.slice(0, whole).forEach((page, index) => {
        this.#pages.set(page, bytes.subarray(index * PAGE_BYTES, (index + 1) * PAGE_BYTES));
      });
      // The read stops at the first page that cannot be read.
      if (whole < asked.length) {
        if (!isNeeded.has(asked[whole]!)) return;
        this.#missing.add(asked[whole]!);
      }
      rest = rest.slice(whole < asked.length ? whole + 1 : whole);
    }
  }
}

function vector(areas: readonly (readonly [bigint, number])[]): CBuffer {
  const bytes = allocate(areas.length * VECTOR_BYTES);
  const view = new DataView(bytes.buffer);
  areas.forEach(([address, length], index) => {
    view.setBigUint64(index * VECTOR_BYTES, address, true);
    view.setBigUint64(index * VECTOR_BYTES + 8, BigInt(length), true);
  });
  return bytes;
}

function joined(parts: readonly Uint8Array[], length: number): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
