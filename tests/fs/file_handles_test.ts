import assert from "node:assert/strict";
import { FileHandles } from "../../src/fs/file_handles.ts";
import type { OpenFile } from "../../src/fs/file_system.ts";
import { MAX_BLOCK_BYTES, MAX_HANDLES } from "../../src/fs/limits.ts";
import { assertFails } from "../support/scratch_directory.ts";

/** A file in memory that records what is done to it. */
class FakeFile implements OpenFile {
  readonly content: Uint8Array<ArrayBuffer>;
  closed = 0;

  constructor(text = "") {
    this.content = new TextEncoder().encode(text);
  }

  readBlock(offset: number, length: number): Promise<Uint8Array<ArrayBuffer>> {
    return Promise.resolve(this.content.slice(offset, offset + length));
  }

  writeBlock(offset: number, bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    this.content.set(bytes, offset);
    return Promise.resolve();
  }

  close(): Promise<void> {
    this.closed++;
    return Promise.resolve();
  }
}

const opening = (file: OpenFile) => () => Promise.resolve(file);
const bytes = (length: number): Uint8Array<ArrayBuffer> => new Uint8Array(length);

Deno.test("FileHandles reads and writes through the id the client chose, which may be empty", async () => {
  const handles = new FileHandles();
  await handles.open("", opening(new FakeFile("0123456789")));
  const block = async (offset: number, length: number) => {
    const { bytes, eof } = await handles.readBlock("", offset, length);
    return [new TextDecoder().decode(bytes), eof];
  };
  assert.deepEqual(await block(0, 4), ["0123", false]);
  assert.deepEqual(await block(8, 4), ["89", true]);
  assert.deepEqual(await block(0, 10), ["0123456789", false], "an exact block is not the end");
  assert.deepEqual(await block(10, 1), ["", true]);
  await handles.writeBlock("", 1, new TextEncoder().encode("xy"));
  assert.deepEqual(await block(0, 4), ["0xy3", false]);
});

Deno.test("FileHandles refuses ids that are taken or too long, before anything is opened", async () => {
  const handles = new FileHandles();
  const neverOpens = () => assert.fail("opened");
  await handles.open("h", opening(new FakeFile()));
  await assertFails(handles.open("h", neverOpens), "invalidRequest", "file handle `h` already exists");
  const tooLong = "file handle ID must not exceed 32 bytes";
  await assertFails(handles.open("h".repeat(33), neverOpens), "invalidRequest", tooLong);
  await assertFails(handles.open("ü".repeat(17), neverOpens), "invalidRequest", tooLong);
  await assertFails(handles.readBlock("h".repeat(33), 0, 1), "invalidRequest", tooLong);
  await handles.open("ü".repeat(16), opening(new FakeFile()));
  await assertFails(handles.close("h".repeat(33)), "invalidRequest", tooLong);
});

Deno.test("FileHandles holds 128 files at a time", async () => {
  const handles = new FileHandles();
  for (let index = 0; index < MAX_HANDLES; index++) await handles.open(`${index}`, opening(new FakeFile()));
  const refusal = "at most 128 file handles may be open per connection";
  await assertFails(handles.open("more", opening(new FakeFile())), "invalidRequest", refusal);
  await handles.close("5");
  await handles.open("more", opening(new FakeFile()));
  assert.equal(handles.size, MAX_HANDLES);
});

Deno.test("FileHandles takes blocks of 1 byte to 1 MiB and keeps the handle when it refuses one", async () => {
  const handles = new FileHandles();
  await handles.open("h", opening(new FakeFile("x".repeat(10))));
  for (const length of [0, MAX_BLOCK_BYTES + 1]) {
    const range = /block length must be between 1 and 1048576/;
    await assertFails(handles.readBlock("h", 0, length), "invalidRequest", range);
    await assertFails(handles.writeBlock("h", 0, bytes(length)), "invalidRequest", range);
  }
  const beyond = "file write range exceeds the signed 64-bit file offset limit";
  for (const offset of [2 ** 63, 2 ** 64]) {
    await assertFails(handles.writeBlock("h", offset, bytes(1)), "invalidRequest", beyond);
  }
  assert.equal((await handles.readBlock("h", 0, MAX_BLOCK_BYTES)).bytes.length, 10);
});

Deno.test("FileHandles does not know a handle that is closed, never was, or failed to open", async () => {
  const handles = new FileHandles();
  const file = new FakeFile();
  await handles.open("h", opening(file));
  await handles.close("h");
  await handles.close("h");
  await handles.close("never");
  assert.equal(file.closed, 1);
  await assertFails(handles.readBlock("h", 0, 1), "notFound", "unknown file handle `h`");
  await assertFails(handles.writeBlock("h", 0, bytes(1)), "notFound", "unknown file handle `h`");
  await assert.rejects(handles.open("h", () => Promise.reject(new Error("refused"))), /refused/);
  await assertFails(handles.readBlock("h", 0, 1), "notFound", "unknown file handle `h`");
  await handles.open("h", opening(new FakeFile()));
});

Deno.test("FileHandles takes an id from the moment it is asked for, and closes what opens too late", async () => {
  const handles = new FileHandles();
  const opened = Promise.withResolvers<OpenFile>();
  const late = new FakeFile();
  const first = handles.open("h", () => opened.promise);
  await assertFails(handles.open("h", () => assert.fail("opened")), "invalidRequest", /already exists/);
  await assertFails(handles.readBlock("h", 0, 1), "notFound", /unknown/);
  await handles.close("h");
  const second = new FakeFile();
  await handles.open("h", opening(second));
  opened.resolve(late);
  await first;
  assert.equal(late.closed, 1);
  assert.equal(second.closed, 0);
});

Deno.test("FileHandles closes everything when the connection ends, also what is still being opened", async () => {
  const handles = new FileHandles();
  const [early, late] = [new FakeFile(), new FakeFile()];
  const opened = Promise.withResolvers<OpenFile>();
  await handles.open("early", opening(early));
  const opensLate = handles.open("late", () => opened.promise);
  await handles.closeAll();
  opened.resolve(late);
  await opensLate;
  assert.deepEqual([early.closed, late.closed], [1, 1]);
  assert.equal(handles.size, 0);
});
