/** What an ordinary user is refused. */

import assert from "node:assert/strict";
import { createDirectFileSystem } from "../../src/fs/direct.ts";
import type { FileSystem } from "../../src/fs/file_system.ts";
import { write } from "../contract/file_system/harness.ts";
import { OrdinaryUser } from "../support/ordinary_user.ts";
import { assertFails, inScratchDirectory } from "../support/scratch_directory.ts";

const DENIED = "Permission denied (os error 13)";

/** A directory that the user may write to, with one in it that it may not even enter. */
async function withUser(test: (user: OrdinaryUser, directory: string) => Promise<void>): Promise<void> {
  await inScratchDirectory(async (directory) => {
    await Deno.chmod(directory, 0o777);
    await Deno.mkdir(`${directory}/closed`);
    await Deno.writeTextFile(`${directory}/closed/f`, "secret");
    await Deno.chmod(`${directory}/closed`, 0o000);
    const user = await OrdinaryUser.start();
    try {
      await test(user, directory);
    } finally {
      user.end();
      await Deno.chmod(`${directory}/closed`, 0o700);
    }
  });
}

const WALK = {
  maxDepth: 9,
  maxDirectories: 9,
  maxEntries: 9,
  followDirectorySymlinks: false,
  pruneHiddenDirectories: false,
};

Deno.test("every filesystem method answers a refused permission as an invalid request", () =>
  withUser(async (user, directory) => {
    await Deno.writeTextFile(`${directory}/unreadable`, "secret");
    await Deno.chmod(`${directory}/unreadable`, 0o000);
    await Deno.writeTextFile(`${directory}/readonly`, "old");
    await Deno.chmod(`${directory}/readonly`, 0o444);

    const inside = `${directory}/closed/f`;
    const follow = { followSymlinks: true };
    const range = { offset: 0, length: null };
    const write = {
      data: new Uint8Array(1),
      atomic: false,
      breakHardLinks: false,
      ifMatch: null,
      mode: null,
      ...follow,
    };
    const attempts: [method: keyof FileSystem, argument: unknown][] = [
      ["readFile", { path: inside, ...follow, ...range }],
      ["readFile", { path: inside, followSymlinks: false, ...range }],
      ["readFile", { path: `${directory}/unreadable`, ...follow, ...range }],
      ["writeFile", { ...write, path: inside }],
      ["writeFile", { ...write, path: inside, atomic: true }],
      ["writeFile", { ...write, path: `${directory}/readonly` }],
      ["writeFile", { ...write, path: `${directory}/readonly`, atomic: true }],
      ["getMetadata", { path: inside, ...follow, fields: [] }],
      ["getMetadata", { path: `${directory}/unreadable`, ...follow, fields: ["digest"] }],
      ["canonicalize", inside],
      ["createDirectory", { path: `${directory}/closed/d`, recursive: true, ...follow }],
      ["createDirectory", { path: `${directory}/closed/d`, recursive: true, followSymlinks: false }],
      ["readDirectory", `${directory}/closed`],
      ["walk", { path: inside, options: WALK }],
      ["remove", { path: inside, recursive: true, force: true, ...follow }],
      ["remove", { path: `${directory}/closed`, recursive: true, force: true, ...follow }],
      ["copy", { sourcePath: `${directory}/unreadable`, destinationPath: `${directory}/c`, recursive: true }],
      ["copy", { sourcePath: `${directory}/closed`, destinationPath: `${directory}/c`, recursive: true }],
      ["rename", { sourcePath: inside, destinationPath: `${directory}/c`, overwrite: false }],
      ["symlink", { path: `${directory}/closed/l`, target: "x" }],
      ["open", { path: inside, mode: "read", ...follow }],
    ];
    for (const [method, argument] of attempts) {
      const { failure } = await user.call(method, argument);
      assert.equal(failure, `invalidRequest: ${DENIED}`, `${method} ${JSON.stringify(argument)}`);
    }
    assert.equal(await Deno.readTextFile(`${directory}/readonly`), "old");
    assert.deepEqual([...Deno.readDirSync(directory)].map(({ name }) => name).sort(), [
      "closed",
      "readonly",
      "unreadable",
    ]);
  }));

Deno.test({
  name: "changing what belongs to somebody else is an invalid request, too (needs root)",
  ignore: Deno.uid() !== 0,
  fn: () =>
    withUser(async (user, directory) => {
      await Deno.writeTextFile(`${directory}/f`, "");
      const { failure } = await user.call("chmod", { path: `${directory}/f`, mode: 0o777, followSymlinks: true });
      assert.equal(failure, "invalidRequest: Operation not permitted (os error 1)");
    }),
});

Deno.test({
  name: "no link that somebody else has put into a place for all is written through (needs root)",
  ignore: Deno.uid() !== 0,
  fn: () =>
    inScratchDirectory(async (directory) => {
      const files = createDirectFileSystem();
      const place = `${directory}/place`;
      await Deno.mkdir(place);
      await Deno.chmod(place, 0o1777);
      await Deno.symlink(`${directory}/ours`, `${place}/planted`);
      await Deno.symlink(`${directory}/ours`, `${place}/own`);
      const planted = await new Deno.Command("chown", { args: ["-h", "1234", `${place}/planted`] }).output();
      assert.ok(planted.success);
      for (const options of [{ atomic: true }, { ifMatch: "absent" }] as const) {
        const through = write(files, `${place}/planted`, "x", options);
        await assertFails(through, "invalidRequest", DENIED);
        await write(files, `${place}/own`, "x", options);
        await Deno.remove(`${directory}/ours`);
      }
      await Deno.chmod(place, 0o755);
      await write(files, `${place}/planted`, "x", { atomic: true });
    }),
});

Deno.test({
  name: "copy onto somebody else's file changes all of it or nothing (needs root)",
  ignore: Deno.uid() !== 0,
  fn: () =>
    withUser(async (user, directory) => {
      const [sourcePath, destinationPath] = [`${directory}/own`, `${directory}/theirs`];
      await Deno.writeTextFile(sourcePath, "new");
      await Deno.writeTextFile(destinationPath, "old content");
      await Deno.chmod(destinationPath, 0o666);
      await Deno.chmod(sourcePath, 0o644);
      const { failure } = await user.call("copy", { sourcePath, destinationPath, recursive: false });
      assert.equal(failure, "invalidRequest: Operation not permitted (os error 1)", "the mode is not theirs to change");
      assert.equal(await Deno.readTextFile(destinationPath), "old content");

      await Deno.chmod(sourcePath, 0o666);
      assert.deepEqual(await user.call("copy", { sourcePath, destinationPath, recursive: false }), {
        result: undefined,
      });
      assert.equal(await Deno.readTextFile(destinationPath), "new");
    }),
});

Deno.test("walk tells which directories it could not read, and goes on", () =>
  withUser(async (user, directory) => {
    await Deno.mkdir(`${directory}/open`);
    await Deno.writeTextFile(`${directory}/open/f`, "");
    const closed = `file://${directory}/closed`;
    assert.deepEqual((await user.call("walk", { path: directory, options: WALK })).result, {
      entries: [
        { path: closed, kind: "directory" },
        { path: `file://${directory}/open`, kind: "directory" },
        { path: `file://${directory}/open/f`, kind: "file" },
      ],
      errors: [{ path: closed, message: DENIED }],
      truncated: false,
    });
    assert.deepEqual((await user.call("walk", { path: `${directory}/closed`, options: WALK })).result, {
      entries: [],
      errors: [{ path: closed, message: DENIED }],
      truncated: false,
    });
  }));

Deno.test("fs/watch says which directories it may not watch, and fs/watchMissing that it does not", () =>
  withUser(async (user, directory) => {
    assert.deepEqual((await user.call("watch", directory)).result, { told: ["unwatched /closed"], isWatching: false });
  }));
