/** The filesystem contract: walks. */

import assert from "node:assert/strict";
import { type FileSystem } from "../../../src/fs/file_system.ts";
import { assertFails } from "../../support/scratch_directory.ts";
import { type ContractTest, crowdedDirectory, NOT_FOUND, plantTree, walk, type WalkOptions } from "./harness.ts";

/** Each name takes 3 * 250 bytes as a URI, so that some 5000 fill the budget. */
const withLongNames = crowdedDirectory(
  Array.from({ length: 6000 }, (_, index) => `${String(index).padStart(5, "0")}${"ü".repeat(122)}`),
);

export function testWalking(test: ContractTest): void {
  const listed = async (files: FileSystem, directory: string, options: WalkOptions = {}) => {
    const { entries, errors, truncated } = await walk(files, directory, options);
    assert.deepEqual(errors, []);
    const paths = entries.map(({ path, kind }) => {
      const name = path.slice(`file://${directory}/`.length);
      return kind === "directory" ? `${name}/` : name;
    });
    return truncated ? [...paths, "(truncated)"] : paths;
  };

  test("walk goes breadth first, in byte order, and leaves out links and special files", async (files, directory) => {
    await plantTree(directory);
    assert.deepEqual(await listed(files, directory), [
      ".hid/",
      "f.txt",
      "sub/",
      ".hid/x",
      "sub/deep/",
      "sub/g.txt",
      "sub/deep/er/",
      "sub/deep/h.txt",
    ]);
    assert.deepEqual(await listed(files, directory, { pruneHiddenDirectories: true, maxDepth: 1 }), [
      ".hid/",
      "f.txt",
      "sub/",
      "sub/deep/",
      "sub/g.txt",
    ]);
  });

  test("walk follows links to directories when told, each real directory once", async (files, directory) => {
    await plantTree(directory);
    assert.deepEqual(await listed(files, directory, { followDirectorySymlinks: true }), [
      ".hid/",
      "f.txt",
      "lnd/",
      "sub/",
      ".hid/x",
      "lnd/deep/",
      "lnd/g.txt",
      "lnd/up/",
      "lnd/deep/er/",
      "lnd/deep/h.txt",
    ]);
  });

  test("walk keeps to its limits and says when it was cut short", async (files, directory) => {
    await plantTree(directory);
    assert.deepEqual(await listed(files, directory, { maxDepth: 0 }), [".hid/", "f.txt", "sub/"]);
    assert.deepEqual(await listed(files, directory, { maxEntries: 2 }), [".hid/", "f.txt", "(truncated)"]);
    assert.deepEqual(await listed(files, directory, { maxDirectories: 1 }), [".hid/", "f.txt", "sub/", "(truncated)"]);
    assert.deepEqual(await listed(files, directory, { maxDirectories: 2 }), [
      ".hid/",
      "f.txt",
      "sub/",
      ".hid/x",
      "(truncated)",
    ]);
    // A link to something counts as examined, one to nothing does not: .hid, f.txt, ln, lnd, sub.
    assert.deepEqual(await listed(files, directory, { maxDepth: 0, maxEntries: 5 }), [".hid/", "f.txt", "sub/"]);
    assert.deepEqual(
      await listed(files, directory, { maxDepth: 0, maxEntries: 4 }),
      [".hid/", "f.txt", "(truncated)"],
    );
    for (const limits of [{ maxDirectories: 0 }, { maxEntries: 0 }]) {
      await assertFails(walk(files, directory, limits), "invalidRequest", /greater than zero/);
    }
    for (const limits of [{ maxDepth: 65 }, { maxDirectories: 10_001 }, { maxEntries: 50_001 }]) {
      await assertFails(walk(files, directory, limits), "invalidRequest", /depth=64, directories=10000, entries=50000/);
    }
  });

  test(
    "walk answers with no entries for a file or an unfollowed link, and fails for a missing path",
    async (files, directory) => {
      await plantTree(directory);
      assert.deepEqual(await listed(files, `${directory}/f.txt`), []);
      assert.deepEqual(await listed(files, `${directory}/lnd`), []);
      assert.equal((await listed(files, `${directory}/lnd`, { followDirectorySymlinks: true })).length > 0, true);
      await assertFails(walk(files, `${directory}/missing`), "notFound", NOT_FOUND);
      await assertFails(walk(files, `${directory}/broken`), "notFound", NOT_FOUND);
    },
  );

  test("walk stops at 4 MiB of answer", async (files) => {
    const { entries, truncated } = await walk(files, withLongNames(), { maxEntries: 50_000 });
    assert.equal(truncated, true);
    const bytes = entries.reduce((sum, { path }) => sum + path.length + 64, 0);
    assert.ok(bytes <= 4 * 1024 * 1024 && bytes > 4 * 1024 * 1024 - 1000, `${bytes} bytes`);
  });
}
