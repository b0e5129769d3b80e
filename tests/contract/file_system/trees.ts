/** The filesystem contract: removing and copying, trees above all. */

import assert from "node:assert/strict";
import { openBelow } from "../../support/proc.ts";
import { assertFails, modeOf } from "../../support/scratch_directory.ts";
import { type ContractTest, copy, metadata, names, NOT_FOUND, pattern, plantTree, remove } from "./harness.ts";

export function testTrees(test: ContractTest): void {
  test("remove removes trees and accepts missing paths", async (files, directory) => {
    await plantTree(directory);
    await remove(files, `${directory}/sub`);
    await remove(files, `${directory}/sub`);
    await assertFails(remove(files, `${directory}/sub`, { force: false }), "notFound", NOT_FOUND);
    await remove(files, `${directory}/missing/below`);
    await assertFails(remove(files, `${directory}/f.txt/x`), "internal", "Not a directory (os error 20)");
    const notEmpty = remove(files, `${directory}/.hid`, { recursive: false });
    await assertFails(notEmpty, "internal", "Directory not empty (os error 39)");
    await remove(files, `${directory}/.hid/x`, { recursive: false, force: false });
    await remove(files, `${directory}/.hid`, { recursive: false, force: false });
    assert.deepEqual(names(directory), ["broken", "f.txt", "ln", "lnd"]);
  });

  test("remove removes a link and not what it leads to", async (files, directory) => {
    await plantTree(directory);
    for (const link of ["ln", "lnd", "broken"]) await remove(files, `${directory}/${link}`, { force: false });
    assert.deepEqual(names(directory), [".hid", "f.txt", "sub"]);
    assert.deepEqual(names(`${directory}/sub`), ["deep", "g.txt", "pipe", "up"]);
  });

  test("remove refuses the root of the filesystem", async (files) => {
    await assertFails(remove(files, "/"), "internal", "Device or resource busy (os error 16)");
    await assertFails(remove(files, "/", { recursive: false }), "internal", "Device or resource busy (os error 16)");
  });

  test("remove of a tree that somebody else removes at the same time ends well", async (files, directory) => {
    for (let round = 0; round < 20; round++) {
      const tree = `${directory}/tree${round}`;
      for (let index = 0; index < 30; index++) await Deno.mkdir(`${tree}/${index % 6}/${index}/x`, { recursive: true });
      await Promise.all([remove(files, tree), remove(files, tree), remove(files, tree)]);
      assert.deepEqual(names(directory), []);
    }
  });

  test("trees deeper than there are descriptors can be copied and removed", async (files, directory) => {
    const deep = `${directory}/t${"/d".repeat(600)}`;
    await Deno.mkdir(deep, { recursive: true });
    await Deno.writeTextFile(`${deep}/f`, "deep");
    await copy(files, `${directory}/t`, `${directory}/u`);
    assert.equal(await Deno.readTextFile(`${directory}/u${"/d".repeat(600)}/f`), "deep");
    await remove(files, `${directory}/t`, { force: false });
    await remove(files, `${directory}/u`, { force: false });
    assert.deepEqual(names(directory), []);
    assert.deepEqual(openBelow(directory), []);
  });

  test("copy copies content and mode of a file, over an existing one too", async (files, directory) => {
    const content = pattern(3_000_000);
    await Deno.writeFile(`${directory}/large`, content);
    await Deno.writeTextFile(`${directory}/small`, "small");
    await Deno.chmod(`${directory}/small`, 0o640);
    await copy(files, `${directory}/large`, `${directory}/c`, false);
    assert.deepEqual(await Deno.readFile(`${directory}/c`), content);
    await copy(files, `${directory}/small`, `${directory}/c`, true);
    assert.equal(await Deno.readTextFile(`${directory}/c`), "small");
    assert.equal(modeOf(`${directory}/c`), 0o640);
    await Deno.chmod(`${directory}/large`, 0o4511);
    await copy(files, `${directory}/large`, `${directory}/c`);
    assert.equal(modeOf(`${directory}/c`), 0o4511);
  });

  test("copy copies files of the kernel that claim to be empty", async (files, directory) => {
    await copy(files, "/proc/self/status", `${directory}/c`);
    assert.match(await Deno.readTextFile(`${directory}/c`), /^Name:/);
  });

  test("copy of a file onto a device gives it the content", async (files, directory) => {
    await Deno.writeTextFile(`${directory}/f`, "x");
    await copy(files, `${directory}/f`, "/dev/null");
  });

  test("copy of a file onto a device reports the device's error", async (files, directory) => {
    await Deno.writeTextFile(`${directory}/f`, "x");
    await Deno.symlink("/dev/full", `${directory}/full`);
    assert.equal((await metadata(files, "/dev/full")).isFile, false);
    const full = copy(files, `${directory}/f`, `${directory}/full`);
    await assertFails(full, "internal", "No space left on device (os error 28)");
    assert.deepEqual(openBelow(directory), []);
  });

  test("copy of a file onto itself leaves it as it is, under any of its names", async (files, directory) => {
    await Deno.writeTextFile(`${directory}/a`, "content");
    await Deno.link(`${directory}/a`, `${directory}/b`);
    await Deno.symlink("a", `${directory}/link`);
    for (const destination of ["a", "b", "link"]) {
      await copy(files, `${directory}/a`, `${directory}/${destination}`);
      assert.equal(await Deno.readTextFile(`${directory}/a`), "content", destination);
    }
  });

  test("copy copies a link as a link", async (files, directory) => {
    await Deno.writeTextFile(`${directory}/f`, "x");
    await Deno.symlink("f", `${directory}/link`);
    await copy(files, `${directory}/link`, `${directory}/copy`, false);
    assert.equal(await Deno.readLink(`${directory}/copy`), "f");
    const again = copy(files, `${directory}/link`, `${directory}/copy`, false);
    await assertFails(again, "internal", "File exists (os error 17)");
  });

  test("copy of a tree makes parents, merges, keeps links and skips special files", async (files, directory) => {
    await plantTree(directory);
    await copy(files, `${directory}/sub`, `${directory}/new/place/copy`);
    assert.deepEqual(names(`${directory}/new/place/copy`), ["deep", "g.txt", "up"]);
    assert.equal(await Deno.readLink(`${directory}/new/place/copy/up`), "..");
    await Deno.mkdir(`${directory}/merged/deep`, { recursive: true });
    await Deno.writeTextFile(`${directory}/merged/own`, "kept");
    await Deno.writeTextFile(`${directory}/merged/g.txt`, "to be overwritten");
    await copy(files, `${directory}/sub`, `${directory}/merged`);
    assert.deepEqual(names(`${directory}/merged`), ["deep", "g.txt", "own", "up"]);
    assert.equal(await Deno.readTextFile(`${directory}/merged/g.txt`), "");
    assert.deepEqual(names(`${directory}/merged/deep`), ["er", "h.txt"]);
  });

  test("copy refuses impossible copies", async (files, directory) => {
    await plantTree(directory);
    const attempt = (source: string, destination: string, recursive = true) =>
      copy(files, `${directory}/${source}`, `${directory}/${destination}`, recursive);
    await assertFails(
      attempt("sub", "x", false),
      "invalidRequest",
      "fs/copy requires recursive: true when sourcePath is a directory",
    );
    await Deno.symlink("sub/g.txt", `${directory}/toFile`);
    for (
      const destination of ["sub", "sub/a/b", "lnd/a", "sub/deep", "sub/up/sub/x", "sub/g.txt", "sub/pipe", "toFile"]
    ) {
      await assertFails(
        attempt("sub", destination),
        "invalidRequest",
        "fs/copy cannot copy a directory to itself or one of its descendants",
      );
    }
    await assertFails(attempt("missing", "x"), "notFound", NOT_FOUND);
    await assertFails(attempt("f.txt", "no/x"), "notFound", NOT_FOUND);
    await assertFails(attempt("f.txt", "sub", false), "internal", "Is a directory (os error 21)");
    await assertFails(attempt("sub", "f.txt"), "internal", "File exists (os error 17)");
    await assertFails(attempt("sub/pipe", "x"), "invalidRequest", /only supports regular files/);
    await assertFails(attempt("f.txt", "sub/pipe"), "invalidRequest", /is not a file/);
    assert.deepEqual(names(`${directory}/sub`), ["deep", "g.txt", "pipe", "up"]);
  });

  test("copy into a tree does not follow links it finds there", async (files, directory) => {
    await Deno.mkdir(`${directory}/from/d`, { recursive: true });
    await Deno.mkdir(`${directory}/to`);
    await Deno.mkdir(`${directory}/outside`);
    await Deno.writeTextFile(`${directory}/from/d/f`, "x");
    await Deno.symlink("../outside", `${directory}/to/d`);
    await assertFails(copy(files, `${directory}/from`, `${directory}/to`), "internal", "File exists (os error 17)");
    assert.deepEqual(names(`${directory}/outside`), []);
  });
}
