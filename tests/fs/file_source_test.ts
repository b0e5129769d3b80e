/** Content that is read while it is passed on: files that change meanwhile, and the end of their descriptors. */

import assert from "node:assert/strict";
import { concatBytes } from "../../src/bytes.ts";
import { BlockingCalls } from "../../src/fs/blocking_calls.ts";
import { openRegular } from "../../src/fs/content.ts";
import { createDirectFileSystem } from "../../src/fs/direct.ts";
import { bringIntoMemory, FileSource } from "../../src/fs/file_source.ts";
import type { LargeContentReceiver } from "../../src/fs/file_system.ts";
import { createIoContext } from "../../src/fs/io_context.ts";
import { LARGE_READ_BYTES, SHORT_READ_BYTES, STREAMED_PIECE_BYTES } from "../../src/fs/limits.ts";
import { toByteString } from "../../src/os/files/byte_string.ts";
import { closeFd } from "../../src/os/files/file_calls.ts";
import { dropFromMemory, isInMemory, tellsWhatIsInMemory } from "../support/page_cache.ts";
import { openBelow } from "../support/proc.ts";
import { inScratchDirectory } from "../support/scratch_directory.ts";

const BYTES = 3 * LARGE_READ_BYTES + 1;

function content(length = BYTES): Uint8Array<ArrayBuffer> {
  return new Uint8Array(length).map((_, at) => (at * 7 + (at >> 8)) & 0xff);
}

const open = (path: string) => openRegular(toByteString(path), { followSymlinks: true }).fd;

/** Whether this process has the descriptor open on the path. */
function isOpen(fd: number, path: string): boolean {
  try {
    return Deno.readLinkSync(`/proc/self/fd/${fd}`).startsWith(path);
  } catch {
    return false;
  }
}

async function drain(source: FileSource): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  for (let piece = await source.next(); piece !== null; piece = await source.next()) pieces.push(piece.slice());
  assert.ok(pieces.slice(0, -1).every(({ length }) => length % 3 === 0), "pieces can be encoded one by one");
  return concatBytes(pieces);
}

Deno.test("FileSource gives any range of a file, in pieces that can be encoded one by one", () =>
  inScratchDirectory(async (directory) => {
    const path = `${directory}/f`;
    await Deno.writeFile(path, content());
    const ranges = [[0, BYTES], [1, BYTES - 1], [0, 1], [0, STREAMED_PIECE_BYTES], [
      5,
      STREAMED_PIECE_BYTES + 1,
    ]] as const;
    for (const [offset, length] of ranges) {
      const fd = open(path);
      const source = new FileSource(createIoContext(), { fd, offset, length });
      assert.equal(source.length, length);
      assert.deepEqual(await drain(source), content().slice(offset, offset + length), `${offset}, ${length}`);
      source.close();
      source.close();
      assert.equal(isOpen(fd, path), false);
    }
  }));

Deno.test("FileSource gives a growing file as long as it was, and a cut one as far as it goes", () =>
  inScratchDirectory(async (directory) => {
    const path = `${directory}/f`;
    await Deno.writeFile(path, content());
    const source = new FileSource(createIoContext(), { fd: open(path), offset: 0, length: BYTES });
    await Deno.writeFile(path, content(1000), { append: true });
    assert.deepEqual(await drain(source), content());
    source.close();

    const cut = new FileSource(createIoContext(), { fd: open(path), offset: 0, length: BYTES });
    assert.equal((await cut.next())?.length, STREAMED_PIECE_BYTES);
    await Deno.truncate(path, STREAMED_PIECE_BYTES + 10);
    assert.equal((await cut.next())?.length, 10);
    // What is appended now never belonged to the content that was asked for.
    await Deno.writeFile(path, content(1000), { append: true });
    assert.equal(await cut.next(), null);
    cut.close();
  }));

/** Memory that is dropped in the moment between is rare; five times in a row it is a fault of ours. */
const MAX_ATTEMPTS = 5;

Deno.test("FileSource reads what is not in memory, too, and bringIntoMemory() makes that unnecessary", async (test) => {
  await inScratchDirectory(async (directory) => {
    const path = `${directory}/f`;
    await Deno.writeFile(path, content());
    await dropFromMemory(path);
    await test.step({
      name: "the device is needed (skipped where the filesystem keeps files in memory or cannot tell)",
      ignore: !tellsWhatIsInMemory() || isInMemory(path),
      fn: () => {},
    });
    await dropFromMemory(path);
    const direct = new FileSource(createIoContext(), { fd: open(path), offset: 0, length: BYTES });
    assert.deepEqual(await drain(direct), content());
    direct.close();

    // A kernel that is short of memory may drop what has just been read: then it is brought there again.
    let threadsAsked = Infinity;
    for (let attempt = 0; attempt < MAX_ATTEMPTS && threadsAsked > 0; attempt++) {
      await dropFromMemory(path);
      const range = { fd: open(path), offset: 0, length: BYTES };
      assert.equal(await bringIntoMemory(createIoContext(), range), tellsWhatIsInMemory());
      const blocking = new BlockingCalls();
      threadsAsked = 0;
      blocking.run = (call) => {
        threadsAsked++;
        return call();
      };
      const fromMemory = new FileSource({ ...createIoContext(), blocking }, range);
      if (tellsWhatIsInMemory()) assert.deepEqual(await drain(fromMemory), content());
      fromMemory.close();
    }
    assert.equal(threadsAsked, 0, "a thread was asked for what had been brought into memory, each time");
  });
});

Deno.test("bringIntoMemory() takes a file that has become shorter", () =>
  inScratchDirectory(async (directory) => {
    const path = `${directory}/f`;
    await Deno.writeFile(path, content());
    const range = { fd: open(path), offset: 0, length: BYTES };
    await Deno.truncate(path, 10);
    await dropFromMemory(path);
    assert.equal(await bringIntoMemory(createIoContext(), range), tellsWhatIsInMemory());
    closeFd(range.fd);
  }));

Deno.test("bringIntoMemory() cannot tell of files that are made as they are read", async () => {
  const fd = open("/proc/self/maps");
  assert.equal(await bringIntoMemory(createIoContext(), { fd, offset: 0, length: BYTES }), false);
  closeFd(fd);
});

Deno.test("FileSource that is closed keeps the descriptor until no thread reads from it", async () => {
  // Of this file nobody can tell whether it is in memory, so a thread is asked.
  const path = "/proc/self/maps";
  const gate = Promise.withResolvers<void>();
  const asked = Promise.withResolvers<void>();
  class GatedCalls extends BlockingCalls {
    override async run<Value>(call: () => Promise<Value>): Promise<Value> {
      asked.resolve();
      await gate.promise;
      return await super.run(call);
    }
  }
  const fd = open(path);
  const source = new FileSource({ ...createIoContext(), blocking: new GatedCalls() }, { fd, offset: 0, length: BYTES });
  const reading = source.next().catch(() => "not wanted");
  await asked.promise;
  source.close();
  assert.equal(isOpen(fd, "/proc/"), true);
  gate.resolve();
  assert.equal(await reading, "not wanted");
  assert.equal(isOpen(fd, "/proc/"), false);
});

Deno.test("FileSource that is closed early leaves the piece it has lent alone", () =>
  inScratchDirectory(async (directory) => {
    await Deno.writeFile(`${directory}/a`, new Uint8Array(BYTES).fill(1));
    await Deno.writeFile(`${directory}/b`, new Uint8Array(BYTES).fill(2));
    const source = (name: string) =>
      new FileSource(createIoContext(), { fd: open(`${directory}/${name}`), offset: 0, length: BYTES });
    const early = source("a");
    const lent = await early.next();
    early.close();
    const other = source("b");
    await other.next();
    assert.ok(lent?.every((byte) => byte === 1));
    other.close();
  }));

Deno.test("FileSource that is closed while it reads lends nothing any more", () =>
  inScratchDirectory(async (directory) => {
    await Deno.writeFile(`${directory}/f`, content());
    const source = new FileSource(createIoContext(), { fd: open(`${directory}/f`), offset: 0, length: BYTES });
    const reading = source.next();
    source.close();
    await assert.rejects(reading, /not wanted/);
    assert.deepEqual(openBelow(directory), []);
  }));

Deno.test("readFile() hands over large content, in memory or not, and only that, once there is room", async (test) => {
  await inScratchDirectory(async (directory) => {
    const path = `${directory}/f`;
    const files = createDirectFileSystem();
    const read = async (length: number) => {
      const calls: string[] = [];
      const pieces: Uint8Array[] = [];
      const sources: FileSource[] = [];
      const receiver: LargeContentReceiver = {
        makeRoom: () => Promise.resolve(void calls.push("makeRoom")),
        makeRoomInMemory: () => void calls.push("makeRoomInMemory"),
        takeBytes: (bytes) => {
          calls.push("takeBytes");
          pieces.push(bytes);
        },
        take: (source) => {
          calls.push("take");
          sources.push(source as FileSource);
        },
      };
      const sink = (piece: Uint8Array) => void pieces.push(piece.slice());
      await files.readFile({ path, followSymlinks: true, offset: 0, length }, sink, undefined, receiver);
      for (const source of sources) {
        pieces.push(await drain(source));
        source.close();
      }
      assert.deepEqual(concatBytes(pieces), content(length));
      return calls;
    };
    await Deno.writeFile(path, content());
    assert.deepEqual(await read(SHORT_READ_BYTES), []);
    assert.deepEqual(await read(LARGE_READ_BYTES - 1), ["makeRoom", "takeBytes"]);
    const inMemory = await read(LARGE_READ_BYTES);
    assert.equal(inMemory[0], "makeRoom");
    await dropFromMemory(path);
    const onDevice = await read(BYTES);
    assert.equal(onDevice[0], "makeRoom");
    await test.step({
      name: "it is handed over (skipped where the filesystem cannot tell what is in memory)",
      ignore: !tellsWhatIsInMemory(),
      fn: () => assert.deepEqual([inMemory, onDevice], [["makeRoom", "take"], ["makeRoom", "take"]]),
    });
  });
});

Deno.test("readFile() closes the file when there is no room for its content", () =>
  inScratchDirectory(async (directory) => {
    const path = `${directory}/f`;
    await Deno.writeFile(path, content());
    const receiver: LargeContentReceiver = {
      makeRoom: () => Promise.reject(new Error("no room")),
      makeRoomInMemory: () => {},
      takeBytes: () => {},
      take: () => {},
    };
    const request = { path, followSymlinks: true, offset: 0, length: null };
    await assert.rejects(createDirectFileSystem().readFile(request, () => {}, undefined, receiver), /no room/);
    assert.deepEqual(openBelow(directory), []);
  }));
