import assert from "node:assert/strict";
import { whyNotTrusted } from "../../../src/process/watched/program_trust.ts";
import { WritablePlaces } from "../../../src/process/watched/writable_places.ts";
import { inScratchDirectory } from "../../support/scratch_directory.ts";

const READ_ONLY = {
  files: { base: "read", rules: [], missing: [], pinned: [], links: [] },
  network: "restricted",
} as const;

const OURS = "below a directory like /tmp a program is trusted that is ours, and not where everybody may replace it";

Deno.test(OURS, () =>
  inScratchDirectory(async (directory) => {
    const shared = `${directory}/shared`;
    await Deno.mkdir(shared);
    await Deno.writeTextFile(`${shared}/tool`, "", { mode: 0o755 });
    const question = { file: `${shared}/tool`, policy: READ_ONLY, writable: new WritablePlaces(), pathIsNamed: false };
    await Deno.chmod(shared, 0o1777);
    assert.equal(await whyNotTrusted(question), null);
    await Deno.chmod(shared, 0o777);
    assert.match(await whyNotTrusted(question) ?? "", /shared can be written by others/);
    assert.equal(await whyNotTrusted({ ...question, pathIsNamed: true }), null);
    await Deno.chmod(shared, 0o755);
    await Deno.chmod(`${shared}/tool`, 0o775);
    assert.match(await whyNotTrusted(question) ?? "", /tool can be written by others/);
  }));

Deno.test("what the sandbox may write never leaves it by its name alone", () =>
  inScratchDirectory(async (directory) => {
    await Deno.writeTextFile(`${directory}/tool`, "", { mode: 0o755 });
    const policy = { ...READ_ONLY, files: { ...READ_ONLY.files, base: "write" } } as const;
    const question = { file: `${directory}/tool`, policy, writable: new WritablePlaces(), pathIsNamed: false };
    assert.match(await whyNotTrusted(question) ?? "", /can be written from inside the sandbox/);
  }));
