import assert from "node:assert/strict";
import { DomainError } from "../../../src/errors.ts";
import {
  advanceGlob,
  compileGlob,
  GLOB_START,
  type GlobPattern,
  type GlobState,
} from "../../../src/launch/policy/glob_pattern.ts";

/** Whether any alternative of a pattern matches a path, name by name as a walk does it. */
function matches(pattern: string, path: string): boolean {
  return compileGlob(pattern).some((glob) => matchesOne(glob, path));
}

function matchesOne(glob: GlobPattern, path: string): boolean {
  if (path === glob.base) return glob.names.length === 0;
  const prefix = glob.base === "/" ? "/" : `${glob.base}/`;
  if (!path.startsWith(prefix)) return false;
  let state: GlobState = GLOB_START;
  let isMatch = false;
  for (const name of path.slice(prefix.length).split("/")) {
    if (state.length === 0) return false;
    ({ state, isMatch } = advanceGlob(glob, state, name));
  }
  return isMatch;
}

Deno.test("compileGlob() patterns match what they say", () => {
  const table: [string, readonly string[], readonly string[]][] = [
    ["/ws/**/*.env", ["/ws/a.env", "/ws/x/a.env", "/ws/x/y/.env"], ["/ws/a.envx", "/a.env", "/ws/a.env/x", "/ws"]],
    ["/ws/*.env", ["/ws/a.env", "/ws/.env", "/ws/a b.env"], ["/ws/x/a.env"]],
    ["/ws/*/*.env", ["/ws/x/a.env"], ["/ws/a.env", "/ws/x/y/a.env"]],
    ["/ws/**", ["/ws/x", "/ws/x/y"], ["/ws", "/wsx"]],
    ["/ws/x/**/y", ["/ws/x/y", "/ws/x/a/b/y"], ["/ws/y", "/ws/x/y/z"]],
    ["/ws/**/x/**/y", ["/ws/x/y", "/ws/a/x/b/y"], ["/ws/y/x"]],
    ["/**/id_rsa", ["/id_rsa", "/home/u/.ssh/id_rsa"], ["/id_rsa.pub"]],
    ["/ws/?.k", ["/ws/a.k", "/ws/ä.k", "/ws/🙂.k"], ["/ws/.k", "/ws/ab.k"]],
    ["/ws/[a-c]x", ["/ws/ax", "/ws/cx"], ["/ws/dx", "/ws/x"]],
    ["/ws/[!a-c]x", ["/ws/dx", "/ws/!x"], ["/ws/ax"]],
    ["/ws/[^a]x", ["/ws/bx"], ["/ws/ax"]],
    ["/ws/[]a]x", ["/ws/]x", "/ws/ax"], ["/ws/bx"]],
    ["/ws/[a-]x", ["/ws/-x", "/ws/ax"], ["/ws/bx"]],
    ["/ws/{a,b*}.k", ["/ws/a.k", "/ws/bcd.k"], ["/ws/c.k"]],
    ["/{ws,out/{x,y}}/k", ["/ws/k", "/out/x/k", "/out/y/k"], ["/out/k"]],
    ["/ws/{a}", ["/ws/a"], ["/ws/{a}"]],
    ["/ws/\\*", ["/ws/*"], ["/ws/a"]],
    ["/ws/\\{a,b\\}", ["/ws/{a,b}"], ["/ws/a"]],
    ["/ws/plain", ["/ws/plain"], ["/ws/plain/x", "/ws"]],
    ["/ws//./a*", ["/ws/ab"], []],
    ["/ws/(a|b)+$", ["/ws/(a|b)+$"], ["/ws/a"]],
    ["/ws/**.env", ["/ws/a.env"], ["/ws/x/a.env"]],
  ];
  for (const [pattern, hits, misses] of table) {
    for (const path of hits) assert.equal(matches(pattern, path), true, `${pattern} should match ${path}`);
    for (const path of misses) assert.equal(matches(pattern, path), false, `${pattern} should not match ${path}`);
  }
});

Deno.test("compileGlob() separates the part that never varies, where a search can start", () => {
  const bases: [string, string][] = [
    ["/ws/a/*.k", "/ws/a"],
    ["/**/k", "/"],
    ["/ws/a", "/ws/a"],
    ["/ws/\\[x/*", "/ws"],
  ];
  for (const [pattern, base] of bases) assert.equal(compileGlob(pattern)[0]?.base, base);
});

Deno.test("compileGlob() refuses what it cannot read", () => {
  for (const pattern of ["/ws/[a", "/ws/{a,b", "/ws/a\\", "/ws/../*", "/ws/*/..", "/ws/\0*", "/ws/[!", "/ws/[]"]) {
    assert.throws(
      () => compileGlob(pattern),
      (error) => error instanceof DomainError && error.kind === "invalidParams",
    );
  }
});

Deno.test("compileGlob() refuses alternatives that multiply without bound", () => {
  assert.throws(() => compileGlob(`/ws/${"{a,b}".repeat(9)}`), /more than 256 alternatives/);
  assert.equal(compileGlob(`/ws/${"{a,b}".repeat(8)}`).length, 256);
  assert.throws(() => compileGlob(`/ws/${"{a}".repeat(4000)}`), /^DomainError: glob pattern has too many characters/);
  assert.throws(() => compileGlob(`/${"{".repeat(20_000_000)}`), /^DomainError: glob pattern has more than 12288 char/);
});

Deno.test("advanceGlob() comes to an end with patterns made to be slow", () => {
  const [glob] = compileGlob(`/ws/${"*a".repeat(60)}b`);
  // A matcher that goes back and tries again would need longer than anybody can wait.
  assert.equal(advanceGlob(glob!, GLOB_START, "a".repeat(255)).isMatch, false);
});
