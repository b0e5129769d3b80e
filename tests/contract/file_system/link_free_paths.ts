/** The filesystem contract: paths in which no link may be. */

import assert from "node:assert/strict";
import { assertFails, makeFifo } from "../../support/scratch_directory.ts";
import { type ContractTest, metadata, names, NOT_FOUND, read, remove, write } from "./harness.ts";

export function testLinkFreePaths(test: ContractTest): void {
  test("without following links, none may be in the path of any method", async (files, directory) => {
    await Deno.mkdir(`${directory}/real`);
    await Deno.writeTextFile(`${directory}/real/f`, "hello");
    await Deno.symlink("real", `${directory}/linked`);
    await Deno.symlink("real/f", `${directory}/link`);
    await Deno.symlink("nowhere", `${directory}/broken`);

    assert.equal(await read(files, `${directory}/real/f`, false), "hello");
    for (const path of [`${directory}/link`, `${directory}/linked/f`, `${directory}/broken`]) {
      await assertFails(read(files, path, false), "internal", /symbolic link|Not a directory/);
      await assertFails(
        write(files, path, "x", { followSymlinks: false }),
        "internal",
        /symbolic link|Not a directory/,
      );
      const open = files.open({ path, mode: "replace", followSymlinks: false });
      await assertFails(open, "internal", /symbolic link|Not a directory/);
    }
    for (
      const path of [`${directory}/link`, `${directory}/broken`, `${directory}/linked/f`, `${directory}/linked/new`]
    ) {
      const atomic = write(files, path, "x", { followSymlinks: false, atomic: true });
      await assertFails(atomic, "internal", /symbolic link|Not a directory/);
    }
    await assertFails(metadata(files, `${directory}/link`, false), "invalidRequest", "path contains a symbolic link");
    await assertFails(metadata(files, `${directory}/linked/f`, false), "internal", /symbolic link|Not a directory/);
    const chmod = files.chmod({ path: `${directory}/link`, mode: 0o600, followSymlinks: false });
    await assertFails(chmod, "invalidRequest", "path contains a symbolic link");
    const makeBelow = files.createDirectory({ path: `${directory}/linked/z`, recursive: true, followSymlinks: false });
    await assertFails(makeBelow, "internal", "Not a directory (os error 20)");
    const options = { recursive: false, followSymlinks: false };
    await assertFails(remove(files, `${directory}/link`, options), "invalidRequest", "path contains a symbolic link");
    await assertFails(remove(files, `${directory}/linked/f`, options), "internal", /symbolic link|Not a directory/);
    await assertFails(remove(files, `${directory}/real`, { followSymlinks: false }), "internal", /recursive no-follow/);

    assert.equal(await Deno.readTextFile(`${directory}/real/f`), "hello");
    assert.deepEqual(names(`${directory}/real`), ["f"]);
    assert.equal((await Deno.lstat(`${directory}/link`)).isSymlink, true);
  });

  test("without following links, anything but a regular file is refused at once, too", async (files, directory) => {
    assert.match(await read(files, "/etc/passwd", false), /:/);
    await makeFifo(`${directory}/fifo`);
    for (const path of [directory, `${directory}/fifo`, "/dev/null", "/dev/zero"]) {
      await assertFails(read(files, path, false), "invalidRequest", /is not a file/);
    }
    const listener = Deno.listen({ transport: "unix", path: `${directory}/socket` });
    try {
      await assertFails(read(files, `${directory}/socket`, false), "invalidRequest", /is not a file/);
    } finally {
      listener.close();
    }
  });

  test(
    "without following links, a link counts as an existing file where the file has to be absent",
    async (files, directory) => {
      await Deno.symlink("target", `${directory}/link`);
      for (const atomic of [false, true]) {
        const options = { atomic, ifMatch: "absent", followSymlinks: false } as const;
        await write(files, `${directory}/new-${atomic}`, "x", options);
        await assertFails(write(files, `${directory}/link`, "x", options), "invalidRequest", /exists/);
      }
      assert.deepEqual(names(directory), ["link", "new-false", "new-true"]);
    },
  );

  test("without following links, ordinary paths work as ever", async (files, directory) => {
    await files.createDirectory({ path: `${directory}/a/b`, recursive: true, followSymlinks: false });
    await files.createDirectory({ path: `${directory}/a/b`, recursive: true, followSymlinks: false });
    const again = files.createDirectory({ path: `${directory}/a/b`, recursive: false, followSymlinks: false });
    await assertFails(again, "internal", "File exists (os error 17)");
    const missing = files.createDirectory({ path: `${directory}/q/z`, recursive: false, followSymlinks: false });
    await assertFails(missing, "notFound", NOT_FOUND);
    await write(files, `${directory}/a/b/f`, "one", { followSymlinks: false });
    await write(files, `${directory}/a/b/f`, "two", { followSymlinks: false, atomic: true });
    await files.chmod({ path: `${directory}/a/b/f`, mode: 0o640, followSymlinks: false });
    const found = await files.getMetadata({ path: `${directory}/a/b/f`, followSymlinks: false, fields: ["mode"] });
    assert.deepEqual([found.isFile, found.size, found.mode], [true, 3, 0o640]);
    await remove(files, `${directory}/a/b/f`, { recursive: false, followSymlinks: false, force: false });
    await remove(files, `${directory}/a/b/f`, { recursive: false, followSymlinks: false });
    const gone = remove(files, `${directory}/a/b/f`, { recursive: false, followSymlinks: false, force: false });
    await assertFails(gone, "notFound", NOT_FOUND);
    assert.deepEqual(names(`${directory}/a/b`), []);
  });

  test("without following links, a path may be longer than the system takes at once", async (files, directory) => {
    const deep = `${directory}${`/${"d".repeat(200)}`.repeat(25)}`;
    await files.createDirectory({ path: deep, recursive: true, followSymlinks: false });
    await write(files, `${deep}/f`, "deep", { followSymlinks: false });
    assert.equal(await read(files, `${deep}/f`, false), "deep");
    assert.equal((await metadata(files, `${deep}/f`, false)).size, 4);
    await assertFails(metadata(files, `${deep}/missing`, false), "notFound", NOT_FOUND);
    await assertFails(
      metadata(files, `${deep}/${"n".repeat(256)}`, false),
      "internal",
      "File name too long (os error 36)",
    );
    await remove(files, `${deep}/f`, { recursive: false, force: false, followSymlinks: false });
    await assertFails(read(files, `${deep}/f`, false), "notFound", NOT_FOUND);
    await remove(files, `${directory}/${"d".repeat(200)}`, { force: false });
  });
}
