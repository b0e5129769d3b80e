/** The filesystem contract: writing files: in place, conditionally, atomically. */

import assert from "node:assert/strict";
import { assertFails, makeFifo, modeOf } from "../../support/scratch_directory.ts";
import { accessList, attributesOf, setAttributes } from "../../support/attributes.ts";
import { type ContractTest, decode, encode, HELLO_DIGEST, names, NOT_FOUND, pattern, write } from "./harness.ts";

export function testWriting(test: ContractTest): void {
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

  test("writeFile follows links, also one to a file that does not exist yet", async (files, directory) => {
    await Deno.writeTextFile(`${directory}/target`, "old");
    await Deno.symlink("target", `${directory}/link`);
    await Deno.symlink("made", `${directory}/dangling`);
    for (const atomic of [false, true]) {
      await write(files, `${directory}/link`, `new ${atomic}`, { atomic });
      assert.equal(await Deno.readTextFile(`${directory}/target`), `new ${atomic}`);
      await write(files, `${directory}/dangling`, `made ${atomic}`, { atomic });
      assert.equal(await Deno.readTextFile(`${directory}/made`), `made ${atomic}`);
      await Deno.remove(`${directory}/made`);
    }
    assert.equal((await Deno.lstat(`${directory}/link`)).isSymlink, true);
    assert.deepEqual(names(directory), ["dangling", "link", "target"]);
  });

  test("writeFile fails in the words of the system and changes nothing", async (files, directory) => {
    await Deno.writeTextFile(`${directory}/f`, "");
    await Deno.symlink("loop", `${directory}/loop`);
    await Deno.symlink("..", `${directory}/up`);
    for (const atomic of [false, true]) {
      const options = { atomic };
      await assertFails(write(files, `${directory}/no/x`, "", options), "notFound", NOT_FOUND);
      await assertFails(write(files, `${directory}/f/x`, "", options), "internal", "Not a directory (os error 20)");
      await assertFails(write(files, directory, "", options), "internal", "Is a directory (os error 21)");
      await assertFails(write(files, "/", "", options), "internal", "Is a directory (os error 21)");
      await assertFails(write(files, `${directory}/loop`, "", options), "internal", /os error 40/);
      await assertFails(write(files, `${directory}/up`, "", options), "internal", "Is a directory (os error 21)");
    }
    assert.deepEqual(names(directory), ["f", "loop", "up"]);
  });

  test("writeFile never waits for a fifo, with a reader or without", async (files, directory) => {
    await makeFifo(`${directory}/fifo`);
    const path = `${directory}/fifo`;
    for (const atomic of [false, true]) {
      await assertFails(write(files, path, "x", { atomic }), "invalidRequest", /is not a file/);
    }
    const reader = await Deno.open(path, { read: true, write: true });
    try {
      await assertFails(write(files, path, "x"), "invalidRequest", /is not a file/);
      await assertFails(
        files.open({ path, mode: "replace", followSymlinks: true }),
        "invalidRequest",
        /is not a file/,
      );
    } finally {
      reader.close();
    }
    await write(files, "/dev/null", "swallowed");
    await assertFails(write(files, "/dev/full", "x"), "internal", "No space left on device (os error 28)");
  });

  test("writeFile with ifMatch writes what the caller has read and refuses anything else", async (files, directory) => {
    const path = `${directory}/f`;
    for (const atomic of [false, true]) {
      await Deno.writeTextFile(path, "hello");
      await write(files, path, "changed", { atomic, ifMatch: HELLO_DIGEST });
      assert.equal(await Deno.readTextFile(path), "changed");
      const stale = write(files, path, "again", { atomic, ifMatch: HELLO_DIGEST });
      await assertFails(stale, "invalidRequest", /ifMatch expects sha256:2cf2.* but the file has sha256:/);
      assert.equal(await Deno.readTextFile(path), "changed");
      const missing = write(files, `${directory}/missing`, "x", { atomic, ifMatch: HELLO_DIGEST });
      await assertFails(missing, "invalidRequest", /does not exist/);
      assert.deepEqual(names(directory), ["f"]);
    }
  });

  test("writeFile with ifMatch absent makes a file that was not there, and touches none", async (files, directory) => {
    for (const atomic of [false, true]) {
      const path = `${directory}/${atomic}`;
      await write(files, path, "first", { atomic, ifMatch: "absent" });
      assert.equal(await Deno.readTextFile(path), "first");
      await assertFails(write(files, path, "second", { atomic, ifMatch: "absent" }), "invalidRequest", /exists/);
      assert.equal(await Deno.readTextFile(path), "first");
    }
    assert.deepEqual(names(directory), ["false", "true"]);
  });

  test("writeFile with ifMatch absent means the target of a link, not the link", async (files, directory) => {
    await Deno.symlink("target", `${directory}/second`);
    await Deno.symlink("second", `${directory}/link`);
    for (const atomic of [false, true]) {
      const options = { atomic, ifMatch: "absent" } as const;
      await write(files, `${directory}/link`, "first", options);
      assert.equal(await Deno.readTextFile(`${directory}/target`), "first");
      await assertFails(write(files, `${directory}/link`, "second", options), "invalidRequest", /exists/);
      const unfollowed = write(files, `${directory}/link`, "x", { ...options, followSymlinks: false });
      await assertFails(unfollowed, "invalidRequest", /exists/);
      await Deno.remove(`${directory}/target`);
    }
    assert.deepEqual(names(directory), ["link", "second"]);
  });

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
    await Deno.writeTextFile(`${directory}/a`, "shared");
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
