import assert from "node:assert/strict";
import { parseToml, stringifyToml } from "../../../src/environment/discovery/toml_document.ts";
import { projectToml, selectionOf } from "../../../src/environment/discovery/toml_projection.ts";

async function project(document: string, ...paths: string[][]): Promise<string | null> {
  const projected = projectToml(await parseToml(document, "x"), selectionOf(paths));
  return projected === null ? null : await stringifyToml(projected);
}

Deno.test("projectToml() keeps whole values at the end of a path", async () => {
  assert.equal(await project("a = 1\nb = 2\n[c]\nd = 3", ["a"], ["c"]), "a = 1\n\n[c]\nd = 3\n");
});

Deno.test("projectToml() keeps only the branch that a path goes through", async () => {
  assert.equal(await project("[a.b]\nc = 1\nd = 2\n[a.x]\ny = 1", ["a", "b", "c"]), "[a.b]\nc = 1\n");
});

Deno.test("projectToml() keeps a value at which a path cannot go on, because it overrides other layers", async () => {
  assert.equal(await project("a = 2\nlist = [ 1, 2 ]", ["a", "b"], ["list", "unused"]), "a = 2\nlist = [ 1, 2 ]\n");
});

Deno.test("projectToml() keeps an empty table on the way, and says when there is nothing at all", async () => {
  assert.equal(await project("[a]\nother = 1", ["a", "b"]), "[a]\n");
  assert.equal(await project("[a]\nother = 1", ["b"]), null);
  assert.equal(await project("a = 1"), null);
});

Deno.test("projectToml() takes the wider of two paths, in any order", async () => {
  const document = "[a]\nb = 1\nc = 2";
  assert.equal(await project(document, ["a"], ["a", "b"]), "[a]\nb = 1\nc = 2\n");
  assert.equal(await project(document, ["a", "b"], ["a"]), "[a]\nb = 1\nc = 2\n");
});

Deno.test("projectToml() finds no keys that the document does not have", async () => {
  assert.equal(await project("a = 1", ["__proto__"], ["constructor"], ["toString"]), null);
  assert.equal(await project("__proto__ = 1", ["__proto__"]), "__proto__ = 1\n");
});

Deno.test("projectToml() takes a path of any length", async () => {
  assert.equal(await project("[a]\nb = 1", ["a", ...new Array<string>(200_000).fill("x")]), "[a]\n");
});
