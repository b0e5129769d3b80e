import assert from "node:assert/strict";
import { isAbsent, isObject } from "../src/json_object.ts";

Deno.test("isObject() takes what has members, and neither lists nor null", () => {
  const values: unknown[] = [{}, { a: 1 }, JSON.parse('{"__proto__":1}'), [], [{}], null, undefined, "text", 1, true];
  assert.deepEqual(values.map(isObject), [true, true, true, ...Array(7).fill(false)]);
});

Deno.test("isAbsent() takes null like a member that is not there", () => {
  assert.deepEqual([undefined, null, false, 0, "", []].map(isAbsent), [true, true, false, false, false, false]);
});
