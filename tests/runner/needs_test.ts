import assert from "node:assert/strict";
import { importingAll, type ModuleGraph, needsOf } from "./needs.ts";

/** `{ "tests/a.ts": ["src/b.ts"] }`: what imports what. */
function graphOf(imports: Record<string, string[]>): ModuleGraph {
  return {
    modules: Object.entries(imports).map(([file, imported]) => ({
      specifier: `file:///r/${file}`,
      dependencies: imported.map((name) => ({ code: { specifier: `file:///r/${name}` } })),
    })),
  };
}

function needs(imports: Record<string, string[]>, texts: Record<string, string>) {
  const [file] = Object.keys(imports);
  return needsOf([new URL(`file:///r/${file}`)], graphOf(imports), ({ pathname }) => texts[pathname.slice(3)] ?? "")[0];
}

Deno.test("needsOf() gives a process of its own to what leads to children, however far", () => {
  const imports = { "tests/a_test.ts": ["tests/b.ts"], "tests/b.ts": ["src/os/children/child_limits.ts"] };
  assert.equal(needs(imports, {})!.ownProcess, true);
  assert.equal(needs({ "tests/a_test.ts": ["src/os/children/child_cgroup.ts"] }, {})!.ownProcess, true);
  assert.equal(needs({ "tests/a_test.ts": ["src/os/errno.ts"] }, {})!.ownProcess, false);
});

Deno.test("needsOf() gives the fewest permissions that serve what the tests' own modules do", () => {
  const imports = { "tests/a_test.ts": ["tests/b.ts", "src/c.ts"], "tests/b.ts": [], "src/c.ts": [] };
  const permissions = (texts: Record<string, string>) => needs(imports, texts)!.permissions;
  assert.equal(permissions({ "tests/a_test.ts": `Deno.test("x", () => {})` }), "unit");
  assert.equal(permissions({ "src/c.ts": "Deno.listen({ port: 0 })" }), "unit");
  assert.equal(permissions({ "tests/b.ts": "Deno.makeTempDir()" }), "serve");
  assert.equal(permissions({ "tests/b.ts": "Deno.readTextFileSync(`/proc/${pid}/stat`)" }), "all");
  assert.equal(permissions({ "tests/b.ts": "Deno.chown(`${group}/cgroup.procs`, 1, 1)" }), "all");
  assert.equal(needs({ "tests/a_test.ts": ["src/os/libc.ts"] }, {})!.permissions, "serve");
});

Deno.test("needsOf() does not guess about a file that the graph lacks", () => {
  assert.throws(() => needsOf([new URL("file:///r/x_test.ts")], { modules: [] }, () => ""), /cannot tell/);
});

Deno.test("importingAll() names files whatever is in their path", () => {
  const files = [new URL('file:///with%20space/%22quoted%22/100%25/a_test.ts"')];
  const [, source = ""] = importingAll(files).split(",");
  assert.equal(decodeURIComponent(source), `import ${JSON.stringify(files[0]!.href)};`);
});
