/** Strings of another process: our own plays it, so that the test says where they lie. */

import assert from "node:assert/strict";
import { addressOf, allocate, type CBuffer } from "../../../src/os/libc.ts";
import { MemoryTooLongError, RemoteMemory, UnreadableMemoryError } from "../../../src/os/children/remote_memory.ts";

const PAGE = 4096;
const decoder = new TextDecoder();
/** What is read by its address alone must not be collected before. */
const kept: Pages[] = [];

/** Some pages, filled from their beginning. */
class Pages {
  readonly bytes: CBuffer;
  /** The first whole page. */
  readonly start: number;
  #end: number;

  constructor(count: number) {
    this.bytes = allocate((count + 1) * PAGE);
    this.start = PAGE - Number(addressOf(this.bytes)) % PAGE;
    this.#end = this.start;
    kept.push(this);
  }

  address(offset: number): bigint {
    return addressOf(this.bytes) + BigInt(offset);
  }

  /** Where the text lies, which ends with a zero. */
  text(text: string): bigint {
    const at = this.#end;
    this.bytes.set(new TextEncoder().encode(text), at);
    this.#end += text.length + 1;
    return this.address(at);
  }

  list(offset: number, pointers: readonly bigint[]): bigint {
    const view = new DataView(this.bytes.buffer);
    [...pointers, 0n].forEach((pointer, index) => view.setBigUint64(offset + index * 8, pointer, true));
    return this.address(offset);
  }
}

/** The text and the lists, read on this thread; what another one reads must be the same. */
async function read(lists: readonly bigint[], text: bigint, maxBytes = 1_000_000): Promise<string[][]> {
  const copy = async (isPrivate: boolean) => {
    const copies = await new RemoteMemory(Deno.pid, { isPrivate }).read({ text, lists, maxBytes });
    return [[copies.text], ...copies.lists].map((list) => list.map((bytes) => decoder.decode(bytes)));
  };
  const here = await copy(true);
  const there = await copy(false);
  assert.deepEqual(there, here);
  return here;
}

Deno.test("lists are read wherever they lie: at the end of a page, across its end, over several, unaligned, or nowhere", async () => {
  const pages = new Pages(8);
  const name = pages.text("/bin/x");
  const expected = ["a", "", "and", "x".repeat(5000)];
  const words = expected.map((word) => pages.text(word));
  const at = (offset: number) => pages.start + offset;
  const many = Array.from({ length: 1200 }, () => words[0]!);
  for (const offset of [3 * PAGE, 3 * PAGE - 8, 3 * PAGE - 4, 3 * PAGE - 1, 3 * PAGE + 3, 3 * PAGE - 28]) {
    assert.deepEqual(await read([pages.list(at(offset), words)], name), [["/bin/x"], expected], `${offset}`);
    assert.deepEqual(await read([pages.list(at(offset), many)], name), [["/bin/x"], many.map(() => "a")]);
  }
  assert.deepEqual(await read([0n, pages.list(at(3 * PAGE), [])], name), [["/bin/x"], [], []]);
});

Deno.test("what is nowhere, and what is more than may be passed to a program, is refused", async () => {
  const pages = new Pages(8);
  const name = pages.text("/bin/x");
  const offset = pages.start + PAGE - 12;
  const list = pages.list(offset, [name, 8n]);
  await assert.rejects(read([list], name), UnreadableMemoryError);
  await assert.rejects(read([8n], name), UnreadableMemoryError);
  await assert.rejects(read([0xffff_ffff_ffff_fff8n], name), UnreadableMemoryError);
  const many = pages.list(offset, Array.from({ length: 1000 }, () => name));
  const bytes = 1001 * ("/bin/x".length + 8);
  assert.equal((await read([many], name, bytes))[1]!.length, 1000);
  await assert.rejects(read([many], name, bytes - 1), MemoryTooLongError);
  await assert.rejects(read([many], name, 100), MemoryTooLongError);
});
