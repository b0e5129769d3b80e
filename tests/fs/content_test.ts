/** Content that is not in memory, and files that change while they are read. */

import assert from "node:assert/strict";
import { openRegular, readNow, readPieces, writeAll } from "../../src/fs/content.ts";
import { createDirectFileSystem } from "../../src/fs/direct.ts";
import { readWholeFile } from "../support/read_whole_file.ts";
import { createIoContext } from "../../src/fs/io_context.ts";
import { SMALL_READ_BYTES } from "../../src/fs/limits.ts";
import { toByteString } from "../../src/os/files/byte_string.ts";
import { closeFd, O_RDWR } from "../../src/os/files/file_calls.ts";
import { ReadTarget } from "../../src/os/files/file_content.ts";
import { allocate } from "../../src/os/libc.ts";
import { write } from "../contract/file_system/harness.ts";
import { dropFromMemory } from "../support/page_cache.ts";
import { inScratchDirectory, modeOf } from "../support/scratch_directory.ts";

const BYTES = 3_000_000;

function content(): Uint8Array<ArrayBuffer> {
  return new Uint8Array(BYTES).map((_, at) => (at * 7 + (at >> 8)) & 0xff);
}

Deno.test("content that is not in memory is left to another thread and arrives complete", async (test) => {
  await inScratchDirectory(async (directory) => {
    const path = `${directory}/f`;
    await Deno.writeFile(path, content());
    await dropFromMemory(path);
    const { fd } = openRegular(toByteString(path), { followSymlinks: true });
    try {
      const target = new ReadTarget(allocate(100_000));
      const isInMemory = readNow(fd, target, target.bytes, 1_000_000) !== null;
      await test.step({
        name: "the device is needed (skipped where the filesystem keeps files in memory or cannot tell)",
        ignore: isInMemory,
        fn: () => {},
      });
      const pieces: number[] = [];
      const total = await readPieces(createIoContext(), fd, (piece) => pieces.push(piece.length), {
        offset: 0,
        maxBytes: Infinity,
        pieceBytes: 300_000,
      });
      assert.equal(total, BYTES);
      assert.ok(pieces.every((length) => length === 300_000), "full pieces, however little each read brings");
    } finally {
      closeFd(fd);
    }
    await dropFromMemory(path);
    const files = createDirectFileSystem();
    assert.deepEqual(await readWholeFile(files, path), content());
    await dropFromMemory(path);
    const file = await files.open({ path, mode: "read", followSymlinks: true });
    assert.deepEqual(await file.readBlock(123_456, 1_048_576), content().slice(123_456, 123_456 + 1_048_576));
    await file.close();
    await dropFromMemory(path);
    await files.copy({ sourcePath: path, destinationPath: `${directory}/copy`, recursive: false });
    assert.deepEqual(await Deno.readFile(`${directory}/copy`), content());
  });
});

Deno.test("small content that is not in memory arrives complete, too", () =>
  inScratchDirectory(async (directory) => {
    const path = `${directory}/f`;
    const small = content().slice(0, SMALL_READ_BYTES - 1);
    await Deno.writeFile(path, small);
    await dropFromMemory(path);
    const files = createDirectFileSystem();
    assert.deepEqual(await readWholeFile(files, path), small);
    await dropFromMemory(path);
    await files.copy({ sourcePath: path, destinationPath: `${directory}/copy`, recursive: false });
    assert.deepEqual(await Deno.readFile(`${directory}/copy`), small);
  }));

Deno.test("sizes around every internal bound are read and copied exactly", () =>
  inScratchDirectory(async (directory) => {
    const files = createDirectFileSystem();
    const all = content();
    for (const around of [48 * 1024, SMALL_READ_BYTES, 768 * 1024, 2 * 768 * 1024]) {
      for (const size of [around - 1, around, around + 1]) {
        const path = `${directory}/f`;
        await Deno.writeFile(path, all.subarray(0, size));
        assert.deepEqual(await readWholeFile(files, path), all.slice(0, size), `${size}`);
        await files.copy({ sourcePath: path, destinationPath: `${directory}/copy`, recursive: false });
        assert.deepEqual(await Deno.readFile(`${directory}/copy`), all.slice(0, size), `${size}`);
      }
    }
  }));

Deno.test("a file that grows while it is read is read to its new end", () =>
  inScratchDirectory(async (directory) => {
    const path = `${directory}/f`;
    await Deno.writeFile(path, content());
    let total = 0;
    await createDirectFileSystem().readFile(
      { path, followSymlinks: true, offset: 0, length: null },
      (piece) => {
        if (total === 0) Deno.writeFileSync(path, new Uint8Array(1000), { append: true });
        total += piece.length;
      },
    );
    assert.equal(total, BYTES + 1000);
  }));

Deno.test("a write that the system refuses on another thread fails with its reason", () =>
  inScratchDirectory(async (directory) => {
    await Deno.writeFile(`${directory}/f`, new Uint8Array(1));
    const { fd } = openRegular(toByteString(`${directory}/f`), { followSymlinks: true, flags: O_RDWR });
    try {
      // No filesystem has files of this size.
      await assert.rejects(writeAll(createIoContext(), fd, content(), 2 ** 62), /File too large \(os error 27\)/);
    } finally {
      closeFd(fd);
    }
  }));

Deno.test("a file without positions is written from beginning to end", () =>
  inScratchDirectory(async (directory) => {
    const files = createDirectFileSystem();
    const name = await Deno.readTextFile("/proc/self/comm");
    try {
      await write(files, "/proc/self/comm", "written");
      assert.equal(await Deno.readTextFile("/proc/self/comm"), "written\n");
      await Deno.writeTextFile(`${directory}/f`, "copied");
      await Deno.chmod(`${directory}/f`, modeOf("/proc/self/comm"));
      await files.copy({ sourcePath: `${directory}/f`, destinationPath: "/proc/self/comm", recursive: false });
      assert.equal(await Deno.readTextFile("/proc/self/comm"), "copied\n");
    } finally {
      await Deno.writeTextFile("/proc/self/comm", name);
    }
    await write(files, "/dev/ptmx", "a terminal nobody listens to");
  }));

Deno.test("requests that are read at the same time do not get each other's bytes", () =>
  inScratchDirectory(async (directory) => {
    const files = createDirectFileSystem();
    const sizes = [0, 1, 100, 5_000, 60_000, 70_000, 900_000];
    await Promise.all(
      sizes.map((size, index) => Deno.writeFile(`${directory}/${index}`, new Uint8Array(size).fill(index + 1))),
    );
    const reads = Array.from({ length: 200 }, async (_, round) => {
      const index = round % sizes.length;
      const bytes = await readWholeFile(files, `${directory}/${index}`);
      assert.equal(bytes.length, sizes[index]);
      assert.ok(bytes.every((byte) => byte === index + 1));
    });
    await Promise.all(reads);
  }));
