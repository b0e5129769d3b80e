import assert from "node:assert/strict";
import { trustedSearchPath, whyNotTrusted } from "../../../src/process/supervised/program_trust.ts";
import { WritablePlaces } from "../../../src/process/supervised/writable_places.ts";
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

Deno.test("a program that the sandbox may write does not leave it only because of its name", () =>
  inScratchDirectory(async (directory) => {
    await Deno.writeTextFile(`${directory}/tool`, "", { mode: 0o755 });
    const policy = { ...READ_ONLY, files: { ...READ_ONLY.files, base: "write" } } as const;
    const question = { file: `${directory}/tool`, policy, writable: new WritablePlaces(), pathIsNamed: false };
    assert.match(await whyNotTrusted(question) ?? "", /can be written from inside the sandbox/);
  }));

Deno.test("a script leaves only with an interpreter that may leave too, unless a rule names the script", () =>
  inScratchDirectory(async (directory) => {
    const workspace = `${directory}/workspace`;
    await Deno.mkdir(workspace);
    const script = async (path: string, firstLine: string) => {
      await Deno.writeTextFile(path, `${firstLine}\necho\n`, { mode: 0o755 });
      return path;
    };
    const rule = { path: workspace, access: "write", type: "directory", id: "1" } as const;
    const policy = { ...READ_ONLY, files: { ...READ_ONLY.files, rules: [rule] } };
    const ask = (file: string, pathIsNamed = false) =>
      whyNotTrusted({ file, policy, writable: new WritablePlaces(), pathIsNamed });
    await script(`${workspace}/run`, "#!/bin/sh");

    const honest = await script(`${directory}/honest`, "#!/bin/sh -e");
    assert.equal(await ask(honest), null);
    const led = await script(`${directory}/led`, `#! ${workspace}/run x`);
    const reason = /its interpreter .*workspace\/run: .*workspace can be written from inside .*path of the script/;
    assert.match(await ask(led) ?? "", reason);
    assert.match(await ask(await script(`${directory}/twice`, `#!${led}`)) ?? "", reason);
    assert.match(await ask(await script(`${directory}/near`, "#!run")) ?? "", /run: it is another file in each/);
    assert.match(await ask(await script(`${directory}/odd`, "#!/proc/self/exe")) ?? "", /another file outside/);
    await Deno.symlink("/bin/sh", `${workspace}/link`);
    assert.match(await ask(await script(`${directory}/linked`, `#!${workspace}/link`)) ?? "", /can be written from/);
    assert.equal(await ask(led, true), null);
    await script(led, `#!${led}`);
    assert.equal(await ask(led), null, "the kernel refuses it");
  }));

Deno.test("a search path keeps only directories into which nobody inside can put a program", () =>
  inScratchDirectory(async (directory) => {
    const workspace = `${directory}/workspace`;
    for (const name of ["workspace/bin", "shared"]) await Deno.mkdir(`${directory}/${name}`, { recursive: true });
    await Deno.chmod(`${directory}/shared`, 0o775);
    await Deno.symlink("/usr/bin", `${workspace}/link`);
    await Deno.symlink(`${workspace}/bin`, `${directory}/led`);
    const rule = { path: workspace, access: "write", type: "directory", id: "1" } as const;
    const policy = { ...READ_ONLY, files: { ...READ_ONLY.files, rules: [rule] } };
    const left = (path: string) => trustedSearchPath(path, { policy, writable: new WritablePlaces() });
    const inside = ["workspace/bin", "workspace/link", "workspace/later", "led", "missing"];
    const unsafe = [...inside.map((name) => `${directory}/${name}`), "", ".", "bin", "/proc/self/cwd"];
    const safe = `/usr/bin:${directory}/shared:/bin`;
    assert.equal(await left(safe), safe);
    assert.equal(await left([...unsafe, safe, ...unsafe].join(":")), safe);
    assert.equal(await left(unsafe.join(":")), null);
    const nothing = { policy: undefined, writable: new WritablePlaces() };
    assert.equal(await trustedSearchPath("bin:/usr/bin", nothing), "bin:/usr/bin");
  }));
