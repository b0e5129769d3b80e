import assert from "node:assert/strict";
import { sharedPacer } from "../../src/os/loop/pacer.ts";
import type { RequestId } from "../../src/rpc/envelope.ts";
import { EncodedResult } from "../../src/rpc/encoded_result.ts";
import { listAnswer } from "../../src/server/methods/long_list.ts";

const requestId = "7" as RequestId;

function entries(count: number): { fileName: string; isFile: boolean }[] {
  return Array.from({ length: count }, (_, i) => ({ fileName: `"ä\n${i}\u{1f600}`, isFile: i % 2 === 0 }));
}

Deno.test("a short list is answered as it is", async () => {
  const few = entries(3);
  assert.deepEqual(await listAnswer(few, sharedPacer()), { entries: few });
});

for (const count of [257, 288, 5000]) {
  Deno.test(`a list of ${count} entries is encoded in steps, and says the same`, async () => {
    const many = entries(count);
    const answer = await listAnswer(many, sharedPacer());
    assert.ok(answer instanceof EncodedResult);
    const message = answer.encode(requestId);
    // As escapes it would be longer, and could be too long for one frame.
    assert.equal(message, JSON.stringify({ id: 7, result: { entries: many } }));
  });
}

Deno.test("a list that is ASCII alone stays in parts", async () => {
  const many = entries(1000).map((entry, i) => ({ ...entry, fileName: `${i}` }));
  const answer = await listAnswer(many, sharedPacer());
  assert.ok(answer instanceof EncodedResult);
  const message = answer.encode(requestId);
  assert.ok(Array.isArray(message) && message.length > 3);
  assert.equal(message.join(""), JSON.stringify({ id: 7, result: { entries: many } }));
});

Deno.test("a long list is given up when nobody waits for it any more", async () => {
  const gone = AbortSignal.abort(new Error("gone"));
  await assert.rejects(() => listAnswer(entries(50_000), sharedPacer(), gone), /gone/);
});
