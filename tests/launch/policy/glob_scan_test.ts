import assert from "node:assert/strict";
import { compileGlob } from "../../../src/launch/policy/glob_pattern.ts";
import { DenoHostTree } from "../../../src/launch/policy/deno_host_tree.ts";
import { scanGlobs } from "../../../src/launch/policy/glob_scan.ts";
import { FakeTree } from "../fake_tree.ts";

const tree = () =>
  new FakeTree({
    "/ws/k.env": { file: "" },
    "/ws/x/k.env": { file: "" },
    "/ws/x/y/k.env": { file: "" },
    "/ws/x/y/z": "directory",
    "/ws/link.env": { link: "/out" },
    "/ws/dir.env/inner.env": { file: "" },
    "/out/o.env": { file: "" },
    "/proc/1/k.env": { file: "" },
  });

const scan = async (pattern: string, maxDepth: number | null = null, disk = tree()) =>
  (await scanGlobs(compileGlob(pattern), disk, { maxDepth })).sort();

Deno.test("scanGlobs() finds files, links and directories, and looks no further below a match", async () => {
  assert.deepEqual(await scan("/ws/**/*.env"), [
    "/ws/dir.env",
    "/ws/k.env",
    "/ws/link.env",
    "/ws/x/k.env",
    "/ws/x/y/k.env",
  ]);
});

Deno.test("scanGlobs() counts its depth from the fixed part of the pattern", async () => {
  assert.deepEqual(await scan("/ws/**/k.env", 1), ["/ws/k.env"]);
  assert.deepEqual(await scan("/ws/**/k.env", 2), ["/ws/k.env", "/ws/x/k.env"]);
  assert.deepEqual(await scan("/ws/x/**/k.env", 1), ["/ws/x/k.env"]);
});

Deno.test("scanGlobs() takes a pattern without wildcards as the path it is", async () => {
  assert.deepEqual(await scan("/ws/x"), ["/ws/x"]);
  assert.deepEqual(await scan("/not/there"), ["/not/there"]);
});

Deno.test("scanGlobs() looks only where something can match", async () => {
  const disk = tree();
  assert.deepEqual(await scan("/ws/x/*/k.env", null, disk), ["/ws/x/y/k.env"]);
  assert.deepEqual(disk.listed, ["/ws/x", "/ws/x/y"]);
});

Deno.test("scanGlobs() leaves out directories that every sandbox has of its own", async () => {
  assert.deepEqual(await scan("/**/k.env"), ["/ws/k.env", "/ws/x/k.env", "/ws/x/y/k.env"]);
});

Deno.test("scanGlobs() refuses if it could protect only some of the matches", async () => {
  const patterns = compileGlob("/ws/**/*.env");
  await assert.rejects(scanGlobs(patterns, tree(), { maxDepth: null, maxMatches: 4 }), /more than 4 paths match/);
  await assert.rejects(scanGlobs(patterns, tree(), { maxDepth: null, maxNames: 5 }), /narrower pattern/);
});

Deno.test("scanGlobs() refuses a match, or a way to matches, that it cannot name", async () => {
  for (const name of ["a\uFFFD.env", "dir\uFFFD/a.env"]) {
    const disk = new FakeTree({ [`/ws/${name}`]: { file: "" } });
    await assert.rejects(scan("/ws/**/*.env", null, disk), /not UTF-8/);
    assert.deepEqual(await scan("/ws/*.txt", null, disk), []);
  }
});

Deno.test("DenoHostTree lists, looks and reads as the disk is", async () => {
  const root = await Deno.makeTempDir();
  try {
    const disk = new DenoHostTree();
    await Deno.mkdir(`${root}/d`);
    await Deno.writeTextFile(`${root}/f`, "gitdir: x");
    await Deno.symlink("d", `${root}/l`);
    await Deno.mkdir(`${root}/held`);
    await Deno.chmod(`${root}/held`, 0o1755);
    await Deno.mkdir(`${root}/used/inner`, { recursive: true });
    await Deno.chmod(`${root}/used`, 0o1755);
    const typeOf = (path: string) => {
      const found = disk.look(`${root}/${path}`);
      return typeof found === "string" ? found : found.type;
    };
    assert.deepEqual(
      ["d", "f", "l", "held", "used", "none", "f/x"].map(typeOf),
      ["directory", "file", "symlink", "placeholder", "directory", "missing", "blocked"],
    );
    assert.equal(disk.readLink(`${root}/l`), "d");
    assert.equal(disk.readStart(`${root}/f`), "gitdir: x");
    assert.equal(disk.readStart(`${root}/none`), null);
    const names = (await disk.list(root)).map(({ name, isDirectory }) => `${name}${isDirectory ? "/" : ""}`).sort();
    assert.deepEqual(names, ["d/", "f", "held/", "l", "used/"]);
    assert.deepEqual(await disk.list(`${root}/none`), []);
    assert.deepEqual(await disk.list(`${root}/f`), []);
  } finally {
    await Deno.chmod(`${root}/used`, 0o755);
    await Deno.remove(root, { recursive: true });
  }
});

Deno.test("DenoHostTree refuses by name what the runtime does not let us list, because the kernel might let a child", async () => {
  // Without all permissions the runtime forbids this directory, whatever else may be read.
  const outcome = await new DenoHostTree().list("/sys").catch((error) => error);
  if (outcome instanceof Array) return;
  assert.equal(outcome.kind, "invalidRequest");
  assert.equal(outcome.message, "Cannot deny glob matches: /sys cannot be listed");
});

Deno.test("DenoHostTree tells a name that is not UTF-8 from one that holds the replacement character", async () => {
  const root = await Deno.makeTempDir();
  try {
    await Deno.writeTextFile(`${root}/real\uFFFD`, "");
    const { code } = await new Deno.Command("sh", {
      args: ["-c", `: > "$(printf '%s/bad\\377' "$0")"`, root],
    }).output();
    assert.equal(code, 0);
    const listed = await new DenoHostTree().list(root);
    assert.deepEqual(
      new Map(listed.map(({ name, isUsable }) => [name, isUsable])),
      new Map([["real\uFFFD", true], ["bad\uFFFD", false]]),
    );
  } finally {
    await Deno.remove(root, { recursive: true });
  }
});
