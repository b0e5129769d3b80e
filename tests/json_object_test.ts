import assert from "node:assert/strict";
import { isObject } from "../src/json_object.ts";

Deno.test("isObject() takes what has members, and neither lists nor null", () => {
  const values: unknown[] = [{}, { a: 1 }, JSON.parse('{"__proto__":1}'), [], [{}], null, undefined, "text", 1, true];
  assert.deepEqual(values.map(isObject), [true, true, true, ...Array(7).fill(false)]);
});
