/** The filesystem contract: files held open. */

import assert from "node:assert/strict";
import { assertFails, modeOf } from "../../support/scratch_directory.ts";
import { type ContractTest, encode, NOT_FOUND, pattern } from "./harness.ts";

export function testOpenFiles(test: ContractTest): void {
  test("an open file is read in blocks at any place, also after its name is gone", async (files, directory) => {
    const content = pattern(2_500_000);
    await Deno.writeFile(`${directory}/f`, content);
    const file = await files.open({ path: `${directory}/f`, mode: "read", followSymlinks: true });
    try {
      await Deno.remove(`${directory}/f`);
      assert.deepEqual(await file.readBlock(1_000_000, 1_048_576), content.slice(1_000_000, 2_048_576));
      assert.deepEqual(await file.readBlock(0, 3), content.slice(0, 3));
      assert.deepEqual(await file.readBlock(2_499_999, 10), content.slice(2_499_999));
      assert.deepEqual(await file.readBlock(2_500_000, 10), new Uint8Array());
      assert.deepEqual(await file.readBlock(2 ** 50, 10), new Uint8Array());
      await assertFails(file.readBlock(2 ** 63, 1), "invalidRequest", "Invalid argument (os error 22)");
      await assertFails(file.writeBlock(0, encode("x")), "internal", "Bad file descriptor (os error 9)");
    } finally {
      await file.close();
    }
    await file.close();
    await assertFails(file.readBlock(0, 1), "internal", /closed/);
  });

  test("a file opened to be replaced is empty at once and takes blocks in any order", async (files, directory) => {
    const path = `${directory}/f`;
    await Deno.writeTextFile(path, "OLD CONTENT");
    await Deno.chmod(path, 0o600);
    const file = await files.open({ path, mode: "replace", followSymlinks: true });
    try {
      assert.equal(await Deno.readTextFile(path), "");
      await file.writeBlock(6, encode("world"));
      await file.writeBlock(0, encode("hello "));
      await file.writeBlock(13, encode("!"));
      assert.equal(await Deno.readTextFile(path), "hello world\0\0!");
      await assertFails(file.readBlock(0, 1), "internal", "Bad file descriptor (os error 9)");
    } finally {
      await file.close();
    }
    assert.equal(modeOf(path), 0o600);
    const inDirectory = files.open({ path: directory, mode: "replace", followSymlinks: true });
    await assertFails(inDirectory, "internal", "Is a directory (os error 21)");
    const missing = files.open({ path: `${directory}/no`, mode: "read", followSymlinks: true });
    await assertFails(missing, "notFound", NOT_FOUND);
    await assertFails(
      files.open({ path: directory, mode: "read", followSymlinks: true }),
      "invalidRequest",
      /is not a file/,
    );
  });

  test("a file opened to be changed keeps what is not written, and must be there", async (files, directory) => {
    const path = `${directory}/f`;
    await Deno.writeTextFile(path, "old content");
    const file = await files.open({ path, mode: "update", followSymlinks: true });
    try {
      await file.writeBlock(0, encode("OLD"));
      await file.writeBlock(11, encode("!"));
      assert.equal(await Deno.readTextFile(path), "OLD content!");
      await assertFails(file.readBlock(0, 1), "internal", "Bad file descriptor (os error 9)");
    } finally {
      await file.close();
    }
    const missing = files.open({ path: `${directory}/no`, mode: "update", followSymlinks: true });
    await assertFails(missing, "notFound", NOT_FOUND);
    assert.deepEqual([...Deno.readDirSync(directory)].map(({ name }) => name), ["f"]);
  });

  test("closing an open file waits for the blocks under way", async (files, directory) => {
    const content = pattern(8 * 1024 * 1024);
    const file = await files.open({ path: `${directory}/f`, mode: "replace", followSymlinks: true });
    const writes = Array.from({ length: 8 }, (_, index) => {
      const offset = index * 1024 * 1024;
      return file.writeBlock(offset, content.slice(offset, offset + 1024 * 1024));
    });
    await file.close();
    await Promise.all(writes);
    assert.deepEqual(await Deno.readFile(`${directory}/f`), content);
  });
}
