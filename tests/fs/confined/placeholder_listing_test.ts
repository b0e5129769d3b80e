import assert from "node:assert/strict";
import { createDirectFileSystem } from "../../../src/fs/direct.ts";
import { PLACEHOLDER_MODES } from "../../../src/launch/policy/placeholders.ts";
import { copy, names, walk, write } from "../../contract/file_system/harness.ts";
import { sandboxTest } from "../../support/sandbox_host.ts";
import { SandboxedFiles } from "../../support/sandboxed_files.ts";
import { inScratchDirectory } from "../../support/scratch_directory.ts";

Deno.test("placeholders are not listed, walked or copied, but directories that only look like one are", () =>
  inScratchDirectory(async (directory) => {
    const files = createDirectFileSystem();
    for (const name of [".git", ".codex", ".aws", "other"]) {
      await Deno.mkdir(`${directory}/from/${name}`, { recursive: true });
    }
    await Deno.writeTextFile(`${directory}/from/.aws/config`, "x");
    // A placeholder; one that somebody has used; one without the mode; one without the name.
    for (const name of [".git", ".aws", "other"]) {
      await Deno.chmod(`${directory}/from/${name}`, PLACEHOLDER_MODES.directory);
    }
    const expected = [".aws", ".codex", "other"];
    const listed = await files.readDirectory(`${directory}/from`);
    assert.deepEqual(listed.map(({ fileName }) => fileName).sort(), expected);
    const walked = await walk(files, `${directory}/from`, { maxDepth: 0 });
    assert.deepEqual(walked.entries.map(({ path }) => path.split("/").at(-1)), expected);
    await copy(files, `${directory}/from`, `${directory}/to`);
    assert.deepEqual(names(`${directory}/to`), expected);
  }));

sandboxTest("a sandbox's own placeholders do not show in what it lists and copies", async () => {
  await using sandboxed = await SandboxedFiles.open();
  const { root } = sandboxed.host;
  const files = await sandboxed.under("read /, write ws, write ws/sub");
  await write(files, `${root}/ws/sub/a`, "a");
  assert.deepEqual(await files.readDirectory(`${root}/ws/sub`), [{ fileName: "a", isDirectory: false, isFile: true }]);
  await copy(files, `${root}/ws/sub`, `${root}/ws/copy`);
  assert.deepEqual(names(`${root}/ws/copy`), ["a"]);
});
