import assert from "node:assert/strict";
import { linesOf, withoutCutEnd, withoutCutStart } from "../../../src/client/process/text.ts";
import { forSeeds } from "../../support/seeds.ts";

const TEXT = "aä€𝄞\r\n\n z𝄞€äa\nend";

Deno.test("linesOf() gives the same lines however the bytes are cut", () =>
  forSeeds(100, async (random) => {
    const bytes = new TextEncoder().encode(TEXT);
    const chunks: Uint8Array[] = [];
    for (let at = 0; at < bytes.length;) chunks.push(bytes.slice(at, at += 1 + random.int(4)));
    const lines = await Array.fromAsync(linesOf((async function* () {
      yield* chunks;
    })()));
    assert.deepEqual(lines, ["aä€𝄞", "", " z𝄞€äa", "end"]);
  }));

Deno.test("withoutCutEnd() and withoutCutStart() leave whole characters, and all of them", () => {
  const bytes = new TextEncoder().encode(TEXT);
  const decoder = new TextDecoder("utf-8", { fatal: true });
  for (let cut = 0; cut <= bytes.length; cut++) {
    const before = decoder.decode(withoutCutEnd(bytes.subarray(0, cut)));
    assert.ok(TEXT.startsWith(before));
    assert.ok(cut - new TextEncoder().encode(before).length < 4);
    assert.ok(TEXT.endsWith(decoder.decode(withoutCutStart(bytes.subarray(cut)))));
  }
  // What is no UTF-8 at all stays as it is.
  assert.deepEqual([...withoutCutEnd(Uint8Array.of(0xff, 0xff))], [0xff, 0xff]);
  assert.deepEqual([...withoutCutEnd(Uint8Array.of(0x80, 0x80, 0x80, 0x80))], [0x80, 0x80, 0x80, 0x80]);
});
