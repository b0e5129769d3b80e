import assert from "node:assert/strict";
import { watchDenials } from "../../../src/launch/policy/watch_denials.ts";
import { compileGlob } from "../../../src/launch/policy/glob_pattern.ts";
import type { PolicyEntry } from "../../../src/launch/policy/policy_entries.ts";
import { FakeTree } from "../fake_tree.ts";

/** `deny /a, write /a/b` */
function isDenied(text: string, globs: readonly string[] = []) {
  const entries = text.split(", ").map((entry): PolicyEntry => {
    const [access, path] = entry.split(" ");
    return { access: access as PolicyEntry["access"], path: path! };
  });
  const tree = new FakeTree({ "/ws/sub": "directory", "/ws/link": { link: "sub" } });
  const denied = watchDenials(
    { entries, globs: globs.flatMap((glob) => compileGlob(glob)), globScanMaxDepth: null },
    tree,
  );
  return denied ?? assert.fail("no name is denied");
}

Deno.test("watchDenials() covers a denied path and everything below it, whether it exists or not", () => {
  const denied = isDenied("read /, deny /ws/later, deny /ws/sub");
  for (const path of ["/ws/later", "/ws/later/x", "/ws/sub", "/ws/sub/x"]) assert.ok(denied(path), path);
  for (const path of ["/", "/ws", "/ws/later2", "/ws/other/later"]) assert.ok(!denied(path), path);
});

Deno.test("watchDenials() leaves out what is granted for writing below a denial, and only that", () => {
  const denied = isDenied("deny /ws/sub, write /ws/sub/open, read /ws/sub/seen");
  assert.ok(!denied("/ws/sub/open/x"));
  for (const path of ["/ws/sub/x", "/ws/sub/seen/x", "/ws/sub/opener"]) assert.ok(denied(path), path);
});

Deno.test("watchDenials() takes a denied root as a missing grant, and not as a denial", () => {
  assert.ok(!isDenied("deny /, read /ws, deny /ws/no")("/ws/x"));
  assert.throws(() => isDenied("deny /, read /ws"), /no name is denied/);
});

Deno.test("watchDenials() follows the links on the way to a denied path", () => {
  const denied = isDenied("read /, deny /ws/link/later");
  assert.ok(denied("/ws/sub/later"));
  assert.ok(!denied("/ws/sub/sooner"));
});

Deno.test("watchDenials() matches patterns by name, below a match, and beyond UTF-8", () => {
  const denied = isDenied("read /", ["/ws/**/*.env", "/ws/fixed"]);
  const bytes = (text: string) => Uint8Array.from(text, (character) => character.charCodeAt(0));
  for (const path of ["/ws/.env", "/ws/a/b/c.env", "/ws/d.env/inside", "/ws/fixed/x"]) assert.ok(denied(path), path);
  assert.ok(denied(bytes("/ws/\xff.env")));
  for (const path of ["/ws", "/ws/env", "/wsx/.env", "/other/.env"]) assert.ok(!denied(path), path);
});
