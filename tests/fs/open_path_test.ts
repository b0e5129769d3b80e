import assert from "node:assert/strict";
import { componentsOf, joinBytePath, lastByteName, parentBytePath, ROOT, uriOf } from "../../src/fs/byte_path.ts";
import { locate, openByComponents, openPath } from "../../src/fs/open_path.ts";
import { type ByteString, toByteString } from "../../src/os/files/byte_string.ts";
import {
  closeFd,
  O_CREAT,
  O_DIRECTORY,
  O_NOFOLLOW,
  O_PATH,
  O_RDONLY,
  O_WRONLY,
} from "../../src/os/files/file_calls.ts";
import { inScratchDirectory } from "../support/scratch_directory.ts";

/** Whether it could be opened, and nothing stays open. */
function opens(fd: number): boolean {
  if (fd >= 0) closeFd(fd);
  return fd >= 0;
}

const WAYS = {
  "by the kernel": (path: ByteString, flags: number, mode = 0) =>
    openPath(path, flags, { followSymlinks: false, mode }),
  "component by component": openByComponents,
};

for (const [name, open] of Object.entries(WAYS)) {
  Deno.test(`paths without links are opened ${name} and all others refused`, () =>
    inScratchDirectory(async (directory) => {
      await Deno.mkdir(`${directory}/d/e`, { recursive: true });
      await Deno.writeTextFile(`${directory}/d/e/f`, "");
      await Deno.symlink("d", `${directory}/link`);
      await Deno.symlink("e/f", `${directory}/d/last`);
      const attempt = (path: string, flags = O_RDONLY) => opens(open(toByteString(`${directory}${path}`), flags));
      assert.equal(attempt("/d/e/f"), true);
      assert.equal(attempt("/d/e", O_RDONLY | O_DIRECTORY), true);
      assert.equal(attempt("/link/e/f"), false);
      assert.equal(attempt("/d/last"), false);
      assert.equal(attempt("/d/last", O_PATH | O_NOFOLLOW), true, "the link itself");
      assert.equal(attempt("/link/e/f", O_PATH | O_NOFOLLOW), false);
      assert.equal(attempt("/d/e/f/x"), false);
      assert.equal(opens(open(ROOT, O_RDONLY | O_DIRECTORY)), true);
      assert.equal(opens(open(toByteString(`${directory}/d/made`), O_WRONLY | O_CREAT, 0o600)), true);
      assert.equal(((await Deno.stat(`${directory}/d/made`)).mode ?? 0) & 0o777, 0o600);
    }));
}

Deno.test("locate finds the name that a chain of links stands for", () =>
  inScratchDirectory(async (directory) => {
    await Deno.mkdir(`${directory}/a/b`, { recursive: true });
    await Deno.symlink("a/second", `${directory}/first`);
    await Deno.symlink(`${directory}/a/b/target`, `${directory}/a/second`);
    const found = locate(toByteString(`${directory}/first`), { followSymlinks: true });
    try {
      assert.equal(found.name, "target");
      assert.equal(Deno.readLinkSync(`/proc/self/fd/${found.directory}`), `${directory}/a/b`);
    } finally {
      closeFd(found.directory);
    }
    await Deno.symlink("loop", `${directory}/loop`);
    await Deno.symlink("a/..", `${directory}/up`);
    assert.throws(() => locate(toByteString(`${directory}/loop`), { followSymlinks: true }), /os error 40/);
    assert.throws(() => locate(toByteString(`${directory}/up`), { followSymlinks: true }), /os error 21/);
  }));

Deno.test("byte paths split, join and become URIs byte by byte", () => {
  const path = toByteString("/a/b c/ü");
  assert.equal(parentBytePath(path), "/a/b c");
  assert.equal(lastByteName(path), toByteString("ü"));
  assert.deepEqual(componentsOf(path), ["a", "b c", toByteString("ü")]);
  assert.equal(joinBytePath(parentBytePath(path), lastByteName(path)), path);
  assert.equal(uriOf(path), "file:///a/b%20c/%C3%BC");
  assert.equal(uriOf(toByteString(new Uint8Array([47, 0xff, 37]))), "file:///%FF%25");
  assert.equal(parentBytePath(toByteString("/a")), ROOT);
  assert.equal(parentBytePath(ROOT), ROOT);
  assert.equal(lastByteName(ROOT), "");
  assert.deepEqual(componentsOf(ROOT), []);
  assert.equal(joinBytePath(ROOT, toByteString("x")), "/x");
});
