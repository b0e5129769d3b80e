import assert from "node:assert/strict";
import { messageOf } from "../src/errors.ts";

Deno.test("messageOf() is an error's message, and the text of anything else that was thrown", () => {
  const thrown: unknown[] = [new TypeError("no such thing"), new Error(""), "a text", 5, null, undefined, { a: 1 }];
  assert.deepEqual(thrown.map(messageOf), [
    "no such thing",
    "",
    "a text",
    "5",
    "null",
    "undefined",
    "[object Object]",
  ]);
});
