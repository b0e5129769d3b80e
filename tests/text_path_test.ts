import assert from "node:assert/strict";
import { depthOf, isWithin, joinPath, lastName, parentPath } from "../src/text_path.ts";

Deno.test("paths are split and joined, also at the root", () => {
  assert.deepEqual(["/a/b c", "/a", "/"].map(parentPath), ["/a", "/", "/"]);
  assert.deepEqual(["/a/b c", "/a", "/"].map(lastName), ["b c", "a", ""]);
  assert.equal(joinPath("/a", "b"), "/a/b");
  assert.equal(joinPath("/", "b"), "/b");
});

Deno.test("isWithin() compares names and not beginnings", () => {
  assert.deepEqual(
    [["/a/b", "/a"], ["/a", "/a"], ["/ab", "/a"], ["/a", "/a/b"], ["/a", "/"], ["/", "/"]].map(([path, directory]) =>
      isWithin(path!, directory!)
    ),
    [true, true, false, false, true, true],
  );
});

Deno.test("depthOf() counts names", () => {
  assert.deepEqual(["/", "/a", "/a/b"].map(depthOf), [0, 1, 2]);
});
