import assert from "node:assert/strict";
import { randomUid } from "../../../src/process/session/process_uid.ts";

Deno.test("randomUid() gives twelve letters and digits, never the same twice", () => {
  const uids = Array.from({ length: 10_000 }, randomUid);
  assert.equal(new Set(uids).size, uids.length);
  for (const uid of uids) assert.match(uid, /^[0-9a-hjkmnp-tv-z]{12}$/);
  for (let at = 0; at < 12; at++) assert.equal(new Set(uids.map((uid) => uid[at])).size, 32, `place ${at}`);
});
