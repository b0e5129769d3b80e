/** The filesystem contract: writing files: in place, conditionally, atomically. */

import assert from "node:assert/strict";
import { assertFails, makeFifo, modeOf } from "../../support/scratch_directory.ts";
import { accessList, attributesOf, setAttributes } from "../../support/attributes.ts";
import {
  type ContractTest,
  decode,
  encode,
  HELLO_DIGEST,
  metadata,
  names,
  NOT_FOUND,
  pattern,
  write,
} from "./harness.ts";

export function testWriting(test: ContractTest): void {
  testWritingInPlace(test);
  testWritingEitherWay(test, "writeFile", { atomic: false });
  testWritingEitherWay(test, "writeFile with atomic", { atomic: true });
  testAtomicWriting(test);
}

function testWritingInPlace(test: ContractTest): void {
  test("writeFile creates, truncates and keeps the mode", async (files, directory) => {
    const path = `${directory}/f`;
    await write(files, path, "long content");
    await Deno.chmod(path, 0o751);
    await write(files, path, "z");
    assert.equal(await Deno.readTextFile(path), "z");
    await write(files, path, "");
    assert.equal(await Deno.readTextFile(path), "");
    assert.equal(modeOf(path), 0o751);
    await Deno.utime(path, 1, 1);
    await write(files, path, "");
    assert.notEqual((await Deno.stat(path)).mtime?.getTime(), 1000, "nothing over nothing is a write, too");
    await write(files, path, "x", { mode: 0o4604 });
    assert.equal(modeOf(path), 0o4604);
    await write(files, `${directory}/new`, "x", { mode: 0o666 });
    assert.equal(modeOf(`${directory}/new`), 0o666, "whatever the umask");
  });

  test("writeFile writes large content exactly", async (files, directory) => {
    const content = pattern(20_000_003);
    await write(files, `${directory}/f`, content);
    assert.deepEqual(await Deno.readFile(`${directory}/f`), content);
  });

  test("writeFile writes the one inode that all hard links share", async (files, directory) => {
    await Deno.writeTextFile(`${directory}/a`, "old");
    await Deno.link(`${directory}/a`, `${directory}/b`);
    await write(files, `${directory}/b`, "new content");
    assert.equal(await Deno.readTextFile(`${directory}/a`), "new content");
    assert.equal((await Deno.stat(`${directory}/a`)).nlink, 2);
  });

  test("writeFile gives a device its content", async (files) => {
    await write(files, "/dev/null", "swallowed");
  });

  test("writeFile reports a device's error", async (files) => {
    assert.equal((await metadata(files, "/dev/full")).isFile, false);
    await assertFails(write(files, "/dev/full", "x"), "internal", "No space left on device (os error 28)");
  });
}

function testAtomicWriting(test: ContractTest): void {
  test("an atomic write replaces the file, keeps its mode and leaves nothing beside it", async (files, directory) => {
    const path = `${directory}/f`;
    await Deno.writeTextFile(path, "old");
    await Deno.chmod(path, 0o750);
    const held = await Deno.open(path);
    try {
      await write(files, path, "new", { atomic: true });
      const buffer = new Uint8Array(8);
      assert.equal(decode(buffer.subarray(0, await held.read(buffer) ?? 0)), "old", "who has it open sees the old one");
    } finally {
      held.close();
    }
    assert.equal(await Deno.readTextFile(path), "new");
    assert.equal(modeOf(path), 0o750);
    await write(files, path, "other mode", { atomic: true, mode: 0o600 });
    assert.equal(modeOf(path), 0o600);
    await write(files, `${directory}/g`, "fresh", { atomic: true });
    await write(files, `${directory}/h`, "fresh");
    assert.equal(modeOf(`${directory}/g`), modeOf(`${directory}/h`));
    assert.deepEqual(names(directory), ["f", "g", "h"]);
  });

  test("an atomic write does not separate hard links unless told to", async (files, directory) => {
    await write(files, `${directory}/a`, "shared", { atomic: true });
    await Deno.link(`${directory}/a`, `${directory}/b`);
    const refused = write(files, `${directory}/a`, "x", { atomic: true });
    await assertFails(refused, "invalidRequest", /2 hard links/);
    assert.equal(await Deno.readTextFile(`${directory}/a`), "shared");
    await write(files, `${directory}/a`, "own", { atomic: true, breakHardLinks: true });
    assert.deepEqual(
      [await Deno.readTextFile(`${directory}/a`), await Deno.readTextFile(`${directory}/b`)],
      ["own", "shared"],
    );
    assert.deepEqual(names(directory), ["a", "b"]);
  });

  test("an atomic write keeps the access control list and users' attributes", async (files, directory) => {
    const [path, shared] = [`${directory}/f`, `${directory}/shared`];
    await Deno.writeTextFile(path, "old");
    await Deno.chmod(path, 0o640);
    // The mode becomes 0660 by this, and yet the group may do nothing.
    const list = accessList({ user: 6, users: { [Deno.uid()!]: 6 }, group: 0, mask: 6, other: 0 });
    if (!setAttributes(path, { "system.posix_acl_access": list, "user.note": encode("kept") })) {
      return console.log("SKIPPED: the temporary directory's filesystem has no access control lists");
    }
    assert.equal(modeOf(path), 0o660);
    await write(files, path, "new", { atomic: true });
    assert.deepEqual(attributesOf(path), { "user.note": encode("kept"), "system.posix_acl_access": list });
    await write(files, path, "newer", { atomic: true, mode: 0o640 });
    const narrowed = accessList({ user: 6, users: { [Deno.uid()!]: 6 }, group: 0, mask: 4, other: 0 });
    assert.deepEqual(attributesOf(path)["system.posix_acl_access"], narrowed, "as chmod does it");

    await Deno.mkdir(shared);
    await Deno.writeTextFile(`${shared}/private`, "old");
    await Deno.chmod(`${shared}/private`, 0o660);
    setAttributes(shared, {
      "system.posix_acl_default": accessList({ user: 7, users: { [Deno.uid()!]: 7 }, group: 5, mask: 7, other: 5 }),
    });
    await write(files, `${shared}/private`, "new", { atomic: true });
    assert.deepEqual(attributesOf(`${shared}/private`), {}, "what new files get there is not for one that was there");
    assert.equal(modeOf(`${shared}/private`), 0o660);
    await write(files, `${shared}/a`, "new", { atomic: true });
    await write(files, `${shared}/b`, "new");
    assert.deepEqual(attributesOf(`${shared}/a`), attributesOf(`${shared}/b`));
  });
}

/** What holds for both ways to write. */
function testWritingEitherWay(test: ContractTest, way: string, { atomic }: { atomic: boolean }): void {
  test(`${way} follows links, also one to a file that does not exist yet`, async (files, directory) => {
    await Deno.writeTextFile(`${directory}/target`, "old");
    await Deno.symlink("target", `${directory}/link`);
    await Deno.symlink("made", `${directory}/dangling`);
    await write(files, `${directory}/link`, "new", { atomic });
    assert.equal(await Deno.readTextFile(`${directory}/target`), "new");
    await write(files, `${directory}/dangling`, "made", { atomic });
    assert.equal(await Deno.readTextFile(`${directory}/made`), "made");
    assert.equal((await Deno.lstat(`${directory}/link`)).isSymlink, true);
    assert.deepEqual(names(directory), ["dangling", "link", "made", "target"]);
  });

  test(`${way} fails in the words of the system and changes nothing`, async (files, directory) => {
    await write(files, `${directory}/f`, "", { atomic });
    await Deno.symlink("loop", `${directory}/loop`);
    await Deno.symlink("..", `${directory}/up`);
    await assertFails(write(files, `${directory}/no/x`, "", { atomic }), "notFound", NOT_FOUND);
    await assertFails(write(files, `${directory}/f/x`, "", { atomic }), "internal", "Not a directory (os error 20)");
    await assertFails(write(files, directory, "", { atomic }), "internal", "Is a directory (os error 21)");
    await assertFails(write(files, "/", "", { atomic }), "internal", "Is a directory (os error 21)");
    await assertFails(write(files, `${directory}/loop`, "", { atomic }), "internal", /os error 40/);
    await assertFails(write(files, `${directory}/up`, "", { atomic }), "internal", "Is a directory (os error 21)");
    assert.deepEqual(names(directory), ["f", "loop", "up"]);
  });

  test(`${way} never waits for a fifo, with a reader or without`, async (files, directory) => {
    await write(files, `${directory}/beside`, "x", { atomic });
    const path = `${directory}/fifo`;
    await makeFifo(path);
    await assertFails(write(files, path, "x", { atomic }), "invalidRequest", /is not a file/);
    const reader = await Deno.open(path, { read: true, write: true });
    try {
      await assertFails(write(files, path, "x", { atomic }), "invalidRequest", /is not a file/);
      const open = files.open({ path, mode: "replace", followSymlinks: true });
      await assertFails(open, "invalidRequest", /is not a file/);
    } finally {
      reader.close();
    }
  });

  test(`${way} and ifMatch writes what the caller has read and refuses anything else`, async (files, directory) => {
    const path = `${directory}/f`;
    await Deno.writeTextFile(path, "hello");
    await write(files, path, "changed", { atomic, ifMatch: HELLO_DIGEST });
    assert.equal(await Deno.readTextFile(path), "changed");
    const stale = write(files, path, "again", { atomic, ifMatch: HELLO_DIGEST });
    await assertFails(stale, "invalidRequest", /ifMatch expects sha256:2cf2.* but the file has sha256:/);
    assert.equal(await Deno.readTextFile(path), "changed");
    const missing = write(files, `${directory}/missing`, "x", { atomic, ifMatch: HELLO_DIGEST });
    await assertFails(missing, "invalidRequest", /does not exist/);
    assert.deepEqual(names(directory), ["f"]);
  });

  test(
    `${way} and ifMatch lets exactly one of several writers succeed that have read the same`,
    async (files, directory) => {
      const path = `${directory}/f`;
      await Deno.writeTextFile(path, "hello");
      const writers = Array.from({ length: 8 }, (_, index) => `writer ${index}`);
      const outcomes = await Promise.allSettled(
        writers.map((text) => write(files, path, text, { atomic, ifMatch: HELLO_DIGEST })),
      );
      const refused = outcomes.filter(({ status }) => status === "rejected") as PromiseRejectedResult[];
      // Each says that the content is another one, and the file holds what the one who succeeded wrote.
      if (refused.length !== writers.length - 1) throw refused[0]?.reason ?? new Error("all of them were let in");
      for (const { reason } of refused) {
        await assertFails(Promise.reject(reason), "invalidRequest", /ifMatch expects sha256:2cf2/);
      }
      const winner = outcomes.findIndex(({ status }) => status === "fulfilled");
      assert.equal(await Deno.readTextFile(path), writers[winner]);
    },
  );

  test(`${way} gives the file the time that is asked for, flushed or not`, async (files, directory) => {
    const path = `${directory}/f`;
    for (const [flush, modifiedAtMs] of [[true, 1_000_000_000_001], [false, 1_000_000_000_002]] as const) {
      await write(files, path, `${flush}`, { atomic, flush, modifiedAtMs, mode: 0o640 });
      assert.equal(await Deno.readTextFile(path), `${flush}`);
      assert.equal(Deno.statSync(path).mtime?.getTime(), modifiedAtMs);
      assert.equal(Deno.statSync(path).mode! & 0o777, 0o640);
    }
    assert.deepEqual(names(directory), ["f"]);
  });

  test(`${way} and ifMatch absent makes a file that was not there, and touches none`, async (files, directory) => {
    const path = `${directory}/f`;
    await write(files, path, "first", { atomic, ifMatch: "absent" });
    assert.equal(await Deno.readTextFile(path), "first");
    await assertFails(write(files, path, "second", { atomic, ifMatch: "absent" }), "invalidRequest", /exists/);
    assert.equal(await Deno.readTextFile(path), "first");
    assert.deepEqual(names(directory), ["f"]);
  });

  test(`${way} and ifMatch absent means the target of a link, not the link`, async (files, directory) => {
    await Deno.symlink("target", `${directory}/second`);
    await Deno.symlink("second", `${directory}/link`);
    await write(files, `${directory}/link`, "first", { atomic, ifMatch: "absent" });
    assert.equal(await Deno.readTextFile(`${directory}/target`), "first");
    const again = write(files, `${directory}/link`, "second", { atomic, ifMatch: "absent" });
    await assertFails(again, "invalidRequest", /exists/);
    assert.deepEqual(names(directory), ["link", "second", "target"]);
  });
}
