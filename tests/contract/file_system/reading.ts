/** The filesystem contract: reading files. */

import assert from "node:assert/strict";
import { readWholeFile } from "../../support/read_whole_file.ts";
import type { ByteSource } from "../../../src/bytes.ts";
import type { FileSystem, LargeContentReceiver } from "../../../src/fs/file_system.ts";
import { LARGE_READ_BYTES, MAX_READ_FILE_BYTES, SHORT_READ_BYTES } from "../../../src/fs/limits.ts";
import { openBelow } from "../../support/proc.ts";
import { assertFails, makeFifo } from "../../support/scratch_directory.ts";
import {
  type ContractTest,
  encode,
  metadata,
  names,
  NOT_FOUND,
  pattern,
  read,
  remove,
  walk,
  write,
} from "./harness.ts";

/** The content in base64, and what came when: room that was asked for, pieces, a source. */
async function readWithRoom(files: FileSystem, path: string): Promise<{ text: string; log: string[] }> {
  const log: string[] = [];
  let text = "";
  let source: ByteSource | null = null;
  const large: LargeContentReceiver = {
    makeRoom: (bytes) => Promise.resolve(void log.push(`room ${bytes}`)),
    makeRoomInMemory: (bytes) => Promise.resolve(void log.push(`memory ${bytes}`)),
    takeBytes: (bytes) => {
      log.push("piece");
      text += bytes.toBase64();
    },
    take: (taken) => {
      log.push("source");
      source = taken;
    },
  };
  const sink = (piece: Uint8Array) => {
    log.push("piece");
    text += piece.toBase64();
  };
  await files.readFile({ path, followSymlinks: true, offset: 0, length: null }, sink, undefined, large);
  const taken = source as ByteSource | null;
  for (let piece = await taken?.next() ?? null; piece !== null; piece = await taken!.next()) text += piece.toBase64();
  taken?.close();
  return { text, log };
}

export function testReading(test: ContractTest): void {
  test("readFile hands over the exact bytes, and none for an empty file", async (files, directory) => {
    await Deno.writeFile(`${directory}/binary`, new Uint8Array([0, 255, 128, 10]));
    await Deno.writeFile(`${directory}/empty`, new Uint8Array());
    assert.deepEqual([...await readWholeFile(files, `${directory}/binary`)], [0, 255, 128, 10]);
    assert.deepEqual([...await readWholeFile(files, `${directory}/empty`)], []);
  });

  test("readFile hands a large file over in pieces whose base64 can be joined", async (files, directory) => {
    const content = pattern(5_000_001);
    await Deno.writeFile(`${directory}/large`, content);
    let text = "";
    let pieces = 0;
    await files.readFile(
      { path: `${directory}/large`, followSymlinks: true, offset: 0, length: null },
      (piece) => {
        text += piece.toBase64();
        pieces++;
      },
    );
    assert.ok(pieces > 1);
    assert.equal(text, content.toBase64());
  });

  test(
    "readFile asks for room before it reads, and hands large content over to be fetched",
    async (files, directory) => {
      for (
        const size of [0, SHORT_READ_BYTES, SHORT_READ_BYTES + 1, LARGE_READ_BYTES - 1, LARGE_READ_BYTES, 3_000_001]
      ) {
        const content = pattern(size);
        await Deno.writeFile(`${directory}/${size}`, content);
        const { text, log } = await readWithRoom(files, `${directory}/${size}`);
        assert.ok(text === content.toBase64(), `${size} bytes`);
        if (size <= SHORT_READ_BYTES) assert.deepEqual(log, size === 0 ? [] : ["piece"]);
        else assert.deepEqual(log.slice(0, 1), [`room ${size}`], "nothing comes before there is room");
        if (size >= LARGE_READ_BYTES) assert.deepEqual(log.slice(1), ["source"]);
        else assert.ok(log.slice(1).every((entry) => entry === "piece"), log.join());
      }
      assert.deepEqual(openBelow(directory), []);
    },
  );

  test("readFile asks for room for a content that is longer than its file says", async (files) => {
    const { text, log } = await readWithRoom(files, "/proc/kallsyms");
    if (text.length <= SHORT_READ_BYTES) return; // Made without symbols.
    const room = log.findIndex((entry) => entry.startsWith("memory "));
    assert.ok(room >= 0 && room <= 1, log.slice(0, 5).join());
  });

  test("readFile reads a range, and nothing beyond the end", async (files, directory) => {
    const content = pattern(200_000);
    await Deno.writeFile(`${directory}/f`, content);
    const range = async (offset: number, length: number | null): Promise<Uint8Array> => {
      const found: number[] = [];
      await files.readFile({ path: `${directory}/f`, followSymlinks: true, offset, length }, (piece) => {
        for (const byte of piece) found.push(byte);
      });
      return Uint8Array.from(found);
    };
    assert.deepEqual(await range(10, 20), content.slice(10, 30));
    assert.deepEqual(await range(199_990, null), content.slice(199_990));
    assert.deepEqual(await range(100, 150_000), content.slice(100, 150_100));
    assert.deepEqual(await range(199_999, 50), content.slice(199_999));
    assert.deepEqual(await range(0, 0), new Uint8Array());
    assert.deepEqual(await range(200_000, 5), new Uint8Array());
    assert.deepEqual(await range(2 ** 40, null), new Uint8Array());
  });

  test("readFile reads files of the kernel that claim to be empty", async (files) => {
    assert.match(await read(files, "/proc/self/status"), /^Name:/);
    assert.ok((await read(files, "/proc/kallsyms")).length > 100_000);
  });

  test("readFile refuses everything that is not a regular file, at once", async (files, directory) => {
    await makeFifo(`${directory}/fifo`);
    const listener = Deno.listen({ transport: "unix", path: `${directory}/socket` });
    try {
      for (const path of [directory, `${directory}/fifo`, `${directory}/socket`, "/dev/null", "/dev/zero"]) {
        await assertFails(read(files, path), "invalidRequest", `path \`${path}\` is not a file`);
      }
    } finally {
      listener.close();
    }
  });

  test("readFile fails in the words of the system", async (files, directory) => {
    await Deno.writeTextFile(`${directory}/f`, "");
    await Deno.symlink("loop", `${directory}/loop`);
    await Deno.symlink("nowhere", `${directory}/broken`);
    await assertFails(read(files, `${directory}/missing`), "notFound", NOT_FOUND);
    await assertFails(read(files, `${directory}/broken`), "notFound", NOT_FOUND);
    await assertFails(read(files, `${directory}/f/x`), "internal", "Not a directory (os error 20)");
    await assertFails(read(files, `${directory}/loop`), "internal", "Too many levels of symbolic links (os error 40)");
    await assertFails(read(files, `${directory}/${"n".repeat(256)}`), "internal", "File name too long (os error 36)");
    await assertFails(read(files, `/${"n/".repeat(4000)}`), "internal", "File name too long (os error 36)");
  });

  test("readFile refuses more than 512 MiB without reading it, and reads a range of it", async (files, directory) => {
    await Deno.writeFile(`${directory}/sparse`, new Uint8Array());
    await Deno.truncate(`${directory}/sparse`, MAX_READ_FILE_BYTES + 1);
    await assertFails(
      read(files, `${directory}/sparse`),
      "invalidRequest",
      "file is too large to read: limit is 536870912 bytes",
    );
    let bytes = 0;
    await files.readFile(
      { path: `${directory}/sparse`, followSymlinks: true, offset: MAX_READ_FILE_BYTES - 9, length: null },
      (piece) => bytes += piece.length,
    );
    assert.equal(bytes, 10);
  });

  test("readFile stops when nobody waits for it any more", async (files, directory) => {
    await Deno.writeFile(`${directory}/large`, new Uint8Array(64 * 1024 * 1024));
    const abort = new AbortController();
    let bytes = 0;
    const reading = files.readFile(
      { path: `${directory}/large`, followSymlinks: true, offset: 0, length: null },
      (piece) => {
        bytes += piece.length;
        abort.abort(new Error("gone"));
      },
      abort.signal,
    );
    await assert.rejects(reading, /gone/);
    assert.ok(bytes < 32 * 1024 * 1024, `${bytes} bytes were read`);
    assert.deepEqual(openBelow(directory), []);
  });

  test("names that are not UTF-8 can be made, found, read and removed", async (files, directory) => {
    const path = new Uint8Array([...encode(`${directory}/caf`), 0xe9, 0xff]);
    await write(files, path, "latin");
    assert.equal(await read(files, path), "latin");
    assert.equal((await metadata(files, path)).size, 5);
    assert.deepEqual(await files.canonicalize(path), path);
    assert.deepEqual((await files.readDirectory(directory)).map((entry) => entry.fileName), ["caf\ufffd\ufffd"]);
    assert.deepEqual((await walk(files, directory)).entries, [{
      path: `file://${directory}/caf%E9%FF`,
      kind: "file",
    }]);
    await files.rename({ sourcePath: path, destinationPath: `${directory}/é`, overwrite: false });
    assert.equal(await read(files, `${directory}/é`), "latin");
    await files.copy({ sourcePath: `${directory}/é`, destinationPath: path, recursive: false });
    await remove(files, path, { force: false });
    assert.deepEqual(names(directory), ["é"]);
  });
}
