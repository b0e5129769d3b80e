import assert from "node:assert/strict";
import { DenoHostTree } from "../../../src/launch/policy/deno_host_tree.ts";
import { OsHostTree } from "../../../src/launch/policy/os_host_tree.ts";
import { PLACEHOLDER_MODES } from "../../../src/launch/policy/placeholders.ts";
import { RememberedTree } from "../../../src/launch/policy/remembered_tree.ts";
import { inScratchDirectory } from "../../support/scratch_directory.ts";

const isLinux = Deno.build.os === "linux";

Deno.test({
  name: isLinux
    ? "OsHostTree sees what DenoHostTree sees"
    : "OsHostTree sees what DenoHostTree sees (SKIPPED: not Linux)",
  ignore: !isLinux,
  fn: () =>
    inScratchDirectory(async (directory) => {
      await Deno.mkdir(`${directory}/dir`);
      await Deno.writeTextFile(`${directory}/file`, "x");
      await Deno.symlink("nowhere", `${directory}/link`);
      await Deno.mkdir(`${directory}/placeholder`);
      await Deno.chmod(`${directory}/placeholder`, PLACEHOLDER_MODES.directory);
      await Deno.mkdir(`${directory}/taken/inside`, { recursive: true });
      await Deno.chmod(`${directory}/taken`, PLACEHOLDER_MODES.directory);
      await Deno.writeTextFile(`${directory}/empty`, "");
      await Deno.chmod(`${directory}/empty`, PLACEHOLDER_MODES.file);
      const types = (tree: DenoHostTree) =>
        ["dir", "file", "link", "placeholder", "taken", "empty", "missing", "file/below", "link/below", "å"]
          .map((name) => tree.look(`${directory}/${name}`))
          .map((look) => typeof look === "string" ? look : look.type);
      const expected = [
        "directory",
        "file",
        "symlink",
        "placeholder",
        "directory",
        "placeholder",
        "missing",
        "blocked",
        "missing",
        "missing",
      ];
      assert.deepEqual(types(new OsHostTree()), expected);
      assert.deepEqual(types(new DenoHostTree()), expected);
    }),
});

Deno.test("RememberedTree answers as at its first look, and reports when that is not true any more", () =>
  inScratchDirectory(async (directory) => {
    const path = `${directory}/d`;
    const changes: readonly (() => Promise<void>)[] = [
      () => Deno.mkdir(path),
      () => Deno.remove(path),
      () => Deno.writeTextFile(path, "x"),
      async () => {
        await Deno.writeTextFile(`${path}2`, "y");
        await Deno.rename(`${path}2`, path);
      },
      async () => {
        await Deno.remove(path);
        await Deno.symlink("elsewhere", path);
      },
    ];
    for (const change of changes) {
      const tree = new RememberedTree(new DenoHostTree());
      const before = tree.look(path);
      assert.equal(tree.isStillSo, true);
      await change();
      assert.deepEqual(tree.look(path), before);
      assert.equal(tree.isStillSo, false);
    }
  }));

Deno.test("RememberedTree vouches for nothing once content was read", () =>
  inScratchDirectory(async (directory) => {
    await Deno.writeTextFile(`${directory}/.git`, "gitdir: a");
    const tree = new RememberedTree(new DenoHostTree());
    assert.equal(tree.readStart(`${directory}/.git`), "gitdir: a");
    assert.equal(tree.isStillSo, false);
  }));
