/** The filesystem contract: metadata and directories. */

import assert from "node:assert/strict";
import { assertFails, makeFifo } from "../../support/scratch_directory.ts";
import { type ContractTest, crowdedDirectory, HELLO_DIGEST, metadata, NOT_FOUND, pattern } from "./harness.ts";

const THOUSANDS = Array.from({ length: 5000 }, (_, index) => `file-${index}-${"x".repeat(index % 60)}`);
const withThousands = crowdedDirectory(THOUSANDS);

export function testLooking(test: ContractTest): void {
  test("getMetadata describes what a path leads to, and says whether it was a link", async (files, directory) => {
    await Deno.writeTextFile(`${directory}/f`, "hello");
    await Deno.mkdir(`${directory}/d`);
    await Deno.symlink("f", `${directory}/lf`);
    await Deno.symlink("d", `${directory}/ld`);
    await Deno.symlink("nowhere", `${directory}/broken`);
    await makeFifo(`${directory}/fifo`);
    const kinds = async (path: string): Promise<boolean[]> => {
      const { isDirectory, isFile, isSymlink } = await metadata(files, `${directory}/${path}`);
      return [isDirectory, isFile, isSymlink];
    };
    assert.deepEqual(await kinds("f"), [false, true, false]);
    assert.deepEqual(await kinds("d"), [true, false, false]);
    assert.deepEqual(await kinds("lf"), [false, true, true]);
    assert.deepEqual(await kinds("ld"), [true, false, true]);
    assert.deepEqual(await kinds("fifo"), [false, false, false]);
    await assertFails(kinds("broken"), "notFound", NOT_FOUND);
    await assertFails(kinds("f/x"), "internal", "Not a directory (os error 20)");

    await Deno.utime(`${directory}/f`, 1_700_000_000.123, 1_700_000_000.123);
    const found = await metadata(files, `${directory}/f`);
    assert.deepEqual(Object.keys(found).sort(), [
      "createdAtMs",
      "isDirectory",
      "isFile",
      "isSymlink",
      "modifiedAtMs",
      "size",
    ]);
    assert.equal(found.size, 5);
    assert.equal(found.modifiedAtMs, 1_700_000_000_123);
    assert.ok(Number.isInteger(found.createdAtMs) && found.createdAtMs >= 0);
    assert.equal((await metadata(files, "/")).isDirectory, true);
  });

  test("getMetadata adds what is asked for, and only that", async (files, directory) => {
    const path = `${directory}/f`;
    await Deno.writeTextFile(path, "hello");
    await Deno.link(path, `${directory}/g`);
    await Deno.chmod(path, 0o640);
    const all = await files.getMetadata({
      path,
      followSymlinks: true,
      fields: ["mode", "uid", "gid", "nlink", "inode", "digest"],
    });
    const stat = await Deno.stat(path);
    assert.deepEqual(
      [all.mode, all.uid, all.gid, all.nlink, all.inode, all.digest],
      [0o640, stat.uid, stat.gid, 2, String(stat.ino), HELLO_DIGEST],
    );
    const some = await files.getMetadata({ path, followSymlinks: true, fields: ["nlink"] });
    assert.equal(Object.keys(some).length, 7);
    const directoryDigest = await files.getMetadata({ path: directory, followSymlinks: true, fields: ["digest"] });
    assert.equal(directoryDigest.digest, null);
  });

  test("a digest of a large file is that of its content", async (files, directory) => {
    const content = pattern(3_000_000);
    await Deno.writeFile(`${directory}/f`, content);
    const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", content));
    const { digest } = await files.getMetadata({ path: `${directory}/f`, followSymlinks: true, fields: ["digest"] });
    assert.equal(digest, `sha256:${hash.toHex()}`);
  });

  test("canonicalize resolves every link", async (files, directory) => {
    await Deno.mkdir(`${directory}/real`);
    await Deno.writeTextFile(`${directory}/real/f`, "");
    await Deno.symlink("real", `${directory}/linked`);
    await Deno.symlink("nowhere", `${directory}/broken`);
    assert.equal(await files.canonicalize(`${directory}/linked/f`), `${directory}/real/f`);
    assert.equal(await files.canonicalize("/"), "/");
    await assertFails(files.canonicalize(`${directory}/broken`), "notFound", NOT_FOUND);
    await assertFails(files.canonicalize(`${directory}/real/f/x`), "internal", "Not a directory (os error 20)");
  });

  test(
    "createDirectory makes parents, and accepts an existing directory only if recursive",
    async (files, directory) => {
      const create = (path: string, recursive = true) =>
        files.createDirectory({ path: `${directory}/${path}`, recursive, followSymlinks: true });
      await create("a/b/c");
      await create("a/b/c");
      assert.ok((await Deno.stat(`${directory}/a/b/c`)).isDirectory);
      await create("n", false);
      await assertFails(create("n", false), "internal", "File exists (os error 17)");
      await assertFails(create("m/x", false), "notFound", NOT_FOUND);
      await Deno.writeTextFile(`${directory}/f`, "");
      await assertFails(create("f"), "internal", "File exists (os error 17)");
      await assertFails(create("f/x"), "internal", "Not a directory (os error 20)");
      await Deno.symlink("nowhere", `${directory}/broken`);
      await assertFails(create("broken/x"), "internal", "File exists (os error 17)");
      await files.createDirectory({ path: "/", recursive: true, followSymlinks: true });
    },
  );

  test("readDirectory types links by their target and leaves out those that lead nowhere", async (files, directory) => {
    await Deno.mkdir(`${directory}/.hidden`);
    await Deno.writeTextFile(`${directory}/f`, "");
    await Deno.writeTextFile(`${directory}/ümläut`, "");
    await Deno.symlink("f", `${directory}/to-file`);
    await Deno.symlink(".hidden", `${directory}/to-directory`);
    await Deno.symlink("nowhere", `${directory}/broken`);
    await Deno.symlink("loop", `${directory}/loop`);
    await makeFifo(`${directory}/fifo`);
    const entries = await files.readDirectory(directory);
    const found = Object.fromEntries(entries.map((entry) => [entry.fileName, [entry.isDirectory, entry.isFile]]));
    assert.deepEqual(found, {
      ".hidden": [true, false],
      "f": [false, true],
      "ümläut": [false, true],
      "to-file": [false, true],
      "to-directory": [true, false],
      "fifo": [false, false],
    });
    await assertFails(files.readDirectory(`${directory}/f`), "internal", "Not a directory (os error 20)");
    await assertFails(files.readDirectory(`${directory}/missing`), "notFound", NOT_FOUND);
  });

  test("readDirectory lists thousands of names, each once", async (files) => {
    const entries = await files.readDirectory(withThousands());
    assert.deepEqual(entries.map((entry) => entry.fileName).sort(), THOUSANDS.toSorted());
  });

  test("list describes every name itself, links with where they lead", async (files, directory) => {
    await Deno.mkdir(`${directory}/d`, { mode: 0o750 });
    await Deno.writeTextFile(`${directory}/f`, "hello", { mode: 0o640 });
    await Deno.utime(`${directory}/f`, 1, 1_234_567_890);
    await Deno.symlink("f", `${directory}/to-file`);
    await Deno.symlink("no where", `${directory}/broken`);
    await makeFifo(`${directory}/fifo`);
    const entries = await files.list(directory);
    const found = Object.fromEntries(entries.map(({ fileName, kind, target }) => [fileName, [kind, target]]));
    assert.deepEqual(found, {
      "d": ["directory", undefined],
      "f": ["file", undefined],
      "to-file": ["symlink", "f"],
      "broken": ["symlink", "no where"],
      "fifo": ["other", undefined],
    });
    const file = entries.find(({ fileName }) => fileName === "f")!;
    const { uid, gid } = await Deno.stat(`${directory}/f`);
    const { size, mode, modifiedAtMs, nlink } = file;
    assert.deepEqual([size, mode, modifiedAtMs, nlink], [5, 0o640, 1_234_567_890_000, 1]);
    assert.deepEqual([file.uid, file.gid], [uid, gid]);
    await assertFails(files.list(`${directory}/f`), "internal", "Not a directory (os error 20)");
    await assertFails(files.list(`${directory}/missing`), "notFound", NOT_FOUND);
  });
}
