/** What the portable file system does where it cannot do what the other one does. */

import assert from "node:assert/strict";
import type { Clock } from "../../src/clock.ts";
import { createDirectFileSystem } from "../../src/fs/direct.ts";
import type { FileSystem } from "../../src/fs/file_system.ts";
import { createPortableFileSystem } from "../../src/fs/portable/portable.ts";
import { copy, HELLO_DIGEST, names, NOT_FOUND, read, remove, walk, write } from "../contract/file_system/harness.ts";
import { PortableFiles } from "../support/portable_files.ts";
import { assertFails, inScratchDirectory } from "../support/scratch_directory.ts";

const reason = "this server cannot call the C library: it is being tested";
const NOT_UTF8 = /^Cannot reach `.*caf\uFFFD.*`, whose name is not UTF-8: this server cannot call the C library: /;

/** In this process with all permissions, and in one with few, where the runtime resolves links itself. */
function portableTest(name: string, test: (files: FileSystem, directory: string) => Promise<void>): void {
  Deno.test(`portable: ${name}`, () =>
    inScratchDirectory((directory) => test(createPortableFileSystem({ reason }), directory)));
  Deno.test(`portable with few permissions: ${name}`, () =>
    inScratchDirectory(async (directory) => {
      await using portable = await PortableFiles.open();
      await test(portable.files, directory);
    }));
}

/** A file, and a link to it, whose names are not UTF-8. */
async function plantLatinNames(directory: string, what: "file" | "link"): Promise<void> {
  const script = what === "file" ? "printf x > $'caf\\xe9'" : "ln -s ok $'caf\\xe9'";
  const { success } = await new Deno.Command("bash", { args: ["-c", `cd ${directory}; ${script}; printf y > ok`] })
    .output();
  assert.ok(success);
}

portableTest("a name that is not UTF-8 is listed as the other one lists it", async (files, directory) => {
  await plantLatinNames(directory, "file");
  const byName = (entries: { fileName: string }[]) => entries.sort((a, b) => (a.fileName < b.fileName ? -1 : 1));
  const listed = byName(await files.readDirectory(directory));
  assert.deepEqual(listed, byName(await createDirectFileSystem().readDirectory(directory)));
  assert.deepEqual(listed.map(({ fileName }) => fileName), ["caf\uFFFD", "ok"]);
});

portableTest("a link whose name is not UTF-8 cannot be followed, which is said", async (files, directory) => {
  await plantLatinNames(directory, "link");
  await assertFails(files.readDirectory(directory), "invalidRequest", NOT_UTF8);
});

portableTest("a walk tells which name it could not tell, and goes on", async (files, directory) => {
  await plantLatinNames(directory, "file");
  const { entries, errors, truncated } = await walk(files, directory);
  assert.deepEqual([entries, truncated], [[{ path: `file://${directory}/ok`, kind: "file" }], false]);
  assert.equal(errors.length, 1);
  assert.equal(errors[0]!.path, `file://${directory}`);
  assert.match(errors[0]!.message, NOT_UTF8);
});

portableTest("a tree with a name that is not UTF-8 is not silently copied in part", async (files, directory) => {
  await Deno.mkdir(`${directory}/from`);
  await plantLatinNames(`${directory}/from`, "file");
  await assertFails(copy(files, `${directory}/from`, `${directory}/to`), "invalidRequest", NOT_UTF8);
  await remove(files, `${directory}/from`, { force: false });
  assert.equal(names(directory).includes("from"), false, "removing needs no names");
});

portableTest("a name that really holds the replacement character is one like any other", async (files, directory) => {
  await Deno.mkdir(`${directory}/from`);
  await Deno.writeTextFile(`${directory}/from/caf\uFFFD`, "x");
  await copy(files, `${directory}/from`, `${directory}/to`);
  assert.equal(await Deno.readTextFile(`${directory}/to/caf\uFFFD`), "x");
  assert.deepEqual((await walk(files, `${directory}/to`)).entries, [
    { path: `file://${directory}/to/caf%EF%BF%BD`, kind: "file" },
  ]);
});

portableTest("conditional writes of both file systems exclude each other", async (files, directory) => {
  const other = createDirectFileSystem();
  for (let round = 0; round < 10; round++) {
    const path = `${directory}/f${round}`;
    await Deno.writeTextFile(path, "hello");
    const writers = Array.from({ length: 6 }, (_, index) => index % 2 === 0 ? files : other);
    const outcomes = await Promise.allSettled(
      writers.map((writer, index) => write(writer, path, `writer ${index}`, { ifMatch: HELLO_DIGEST })),
    );
    const winners = outcomes.flatMap(({ status }, index) => status === "fulfilled" ? [index] : []);
    assert.equal(winners.length, 1);
    assert.equal(await Deno.readTextFile(path), `writer ${winners[0]}`);
  }
});

Deno.test("portable: a conditional write waits for the lock of another program, and then says so", () =>
  inScratchDirectory(async (directory) => {
    const path = `${directory}/f`;
    await Deno.writeTextFile(path, "hello");
    using held = await Deno.open(path, { read: true, write: true });
    assert.equal(await held.tryLock(true), true);
    let [now, waits] = [0, 0];
    const clock: Clock = {
      now: () => now,
      setTimer: (ms, fire) => {
        now += ms;
        waits++;
        queueMicrotask(fire);
        return () => {};
      },
    };
    const files = createPortableFileSystem({ reason, clock });
    const writing = write(files, path, "new", { ifMatch: HELLO_DIGEST });
    await assertFails(writing, "internal", "Cannot write: another program holds a lock on the file");
    assert.equal(now, 5_000);
    assert.ok(waits > 100);
    assert.equal(await Deno.readTextFile(path), "hello");
    await held.unlock();
    await write(files, path, "new", { ifMatch: HELLO_DIGEST });
    assert.equal(await Deno.readTextFile(path), "new");
  }));

Deno.test({
  name: "portable: no link that somebody else has put into a place for all is followed (needs root)",
  ignore: Deno.uid() !== 0,
  fn: () =>
    inScratchDirectory(async (directory) => {
      await using portable = await PortableFiles.open();
      const { files } = portable;
      const place = `${directory}/place`;
      await Deno.mkdir(place);
      await Deno.chmod(place, 0o1777);
      await Deno.writeTextFile(`${directory}/ours`, "secret");
      for (const name of ["planted", "own"]) await Deno.symlink(`${directory}/ours`, `${place}/${name}`);
      const { success } = await new Deno.Command("chown", { args: ["-h", "1234", `${place}/planted`] }).output();
      assert.ok(success);
      const denied = "Permission denied (os error 13)";
      await assertFails(read(files, `${place}/planted`), "invalidRequest", denied);
      await assertFails(write(files, `${place}/planted`, "x"), "invalidRequest", denied);
      await assertFails(copy(files, `${directory}/ours`, `${place}/planted`), "invalidRequest", denied);
      const open = files.open({ path: `${place}/planted`, mode: "replace", followSymlinks: true });
      await assertFails(open, "invalidRequest", denied);
      assert.equal(await read(files, `${place}/own`), "secret");
      await Deno.chmod(place, 0o755);
      assert.equal(await read(files, `${place}/planted`), "secret");
    }),
});

portableTest("a sandbox's placeholder counts as missing", async (files, directory) => {
  const [git, mode] = [`${directory}/.git`, 0o1755];
  await Deno.mkdir(git);
  await Deno.chmod(git, mode);
  await Deno.writeTextFile(`${directory}/f`, "");
  const look = files.getMetadata({ path: git, followSymlinks: true, fields: [] });
  await assertFails(look, "notFound", NOT_FOUND);
  await assertFails(files.canonicalize(git), "notFound", NOT_FOUND);
  await assertFails(files.readDirectory(git), "notFound", NOT_FOUND);
  await assertFails(remove(files, git, { force: false }), "notFound", NOT_FOUND);
  await assertFails(copy(files, git, `${directory}/copy`), "notFound", NOT_FOUND);
  const rename = files.rename({ sourcePath: git, destinationPath: `${directory}/other`, overwrite: false });
  await assertFails(rename, "notFound", NOT_FOUND);
  assert.deepEqual((await files.readDirectory(directory)).map(({ fileName }) => fileName), ["f"]);
  assert.deepEqual((await walk(files, directory)).entries.map(({ path }) => path), [`file://${directory}/f`]);
  await files.createDirectory({ path: git, recursive: false, followSymlinks: true });
  assert.equal((await files.getMetadata({ path: git, followSymlinks: true, fields: ["mode"] })).mode, 0o755);
});

portableTest("a directory is not renamed over one that is there, even an empty one", async (files, directory) => {
  await Deno.mkdir(`${directory}/from`);
  await Deno.writeTextFile(`${directory}/from/f`, "");
  await Deno.mkdir(`${directory}/empty`);
  const rename = (destination: string) =>
    files.rename({ sourcePath: `${directory}/from`, destinationPath: `${directory}/${destination}`, overwrite: false });
  await assertFails(rename("empty"), "internal", "File exists (os error 17)");
  await assertFails(rename("from/inside"), "invalidRequest", "Invalid argument (os error 22)");
  assert.deepEqual([names(directory), names(`${directory}/from`)], [["empty", "from"], ["f"]]);
  await rename("to");
  assert.deepEqual([names(directory), names(`${directory}/to`)], [["empty", "to"], ["f"]]);
});
