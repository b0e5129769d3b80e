import assert from "node:assert/strict";
import { followPath } from "../../../src/launch/policy/host_tree.ts";
import { FakeTree } from "../fake_tree.ts";

const tree = new FakeTree({
  "/ws/sub": "directory",
  "/ws/file": { file: "" },
  "/ws/up": { link: "../out" },
  "/ws/self": { link: "." },
  "/ws/loop": { link: "loop" },
  "/ws/dangling": { link: "/nowhere/at/all" },
  "/ws/absolute": { link: "/out/deep" },
  "/ws/twice": { link: "up/deep/../deep" },
  "/ws/top": { link: "/" },
  "/ws/beyond": { link: "../../../../out" },
  "/ws/through": { link: "file/.." },
  "/ws/held": "placeholder",
  "/ws/shut": "closed",
  "/out/deep": "directory",
});

Deno.test("followPath() finds what the kernel would, and tells which links it passed", () => {
  const link = (path: string, target: string) => ({ path, target });
  const expected: [string, string, { path: string; target: string }[]][] = [
    ["/", "/", []],
    ["/ws/sub", "/ws/sub", []],
    ["/ws/file", "/ws/file", []],
    ["/ws/up", "/out", [link("/ws/up", "../out")]],
    ["/ws/up/deep", "/out/deep", [link("/ws/up", "../out")]],
    ["/ws/self", "/ws", [link("/ws/self", ".")]],
    ["/ws/absolute", "/out/deep", [link("/ws/absolute", "/out/deep")]],
    ["/ws/twice", "/out/deep", [link("/ws/twice", "up/deep/../deep"), link("/ws/up", "../out")]],
    ["/ws/top", "/", [link("/ws/top", "/")]],
    ["/ws/top/out", "/out", [link("/ws/top", "/")]],
    ["/ws/beyond/deep", "/out/deep", [link("/ws/beyond", "../../../../out")]],
  ];
  for (const [path, real, links] of expected) {
    const found = followPath(tree, path);
    assert.ok(found.type === "found", `${path}: ${JSON.stringify(found)}`);
    assert.deepEqual({ path: found.path, id: found.entry.id, links: found.links }, { path: real, id: real, links });
  }
});

Deno.test("followPath() names the first part that is missing", () => {
  const missing: [string, string][] = [
    ["/ws/none", "/ws/none"],
    ["/ws/none/deeper/still", "/ws/none"],
    ["/ws/up/none", "/out/none"],
    ["/ws/dangling", "/nowhere"],
    // To a policy there is nothing where we have put a stand-in.
    ["/ws/held", "/ws/held"],
    ["/ws/held/x", "/ws/held"],
  ];
  for (const [path, firstMissing] of missing) {
    const found = followPath(tree, path);
    assert.ok(found.type === "missing", path);
    assert.equal(found.firstMissing, firstMissing);
  }
});

Deno.test("followPath() names what is in the way", () => {
  const blocked: [string, string][] = [
    ["/ws/file/x", "/ws/file"],
    ["/ws/shut/x", "/ws/shut"],
    ["/ws/through", "/ws/file"],
    ["/ws/loop", "/ws/loop"],
  ];
  for (const [path, obstacle] of blocked) {
    const found = followPath(tree, path);
    assert.ok(found.type === "blocked", `${path}: ${JSON.stringify(found)}`);
    assert.equal(found.obstacle, obstacle);
  }
});
