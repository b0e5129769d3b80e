import assert from "node:assert/strict";
import { concatBytes, GatheredBytes, writeFully } from "../src/bytes.ts";
import { forSeeds, randomBytes } from "./support/seeds.ts";

Deno.test("GatheredBytes gives back what it was given, in order, whatever the lengths", async () => {
  await forSeeds(100, (random) => {
    const gathered = new GatheredBytes();
    for (let message = 0; message < 3; message++) {
      const given = Array.from({ length: random.int(40) }, () => {
        return randomBytes(random, random.pick([0, 1, 2, 125, 1000, 1025, 16_383, 16_384, 40_000]));
      });
      for (const part of given) {
        const lent = part.slice();
        gathered.add(lent);
        lent.fill(0); // It was only lent.
      }
      const whole = concatBytes(given);
      assert.equal(gathered.length, whole.length);
      if (message === 0) assert.ok(gathered.take().toBase64() === whole.toBase64());
      else {
        const pieces = gathered.takePieces();
        assert.ok(pieces.slice(0, -1).every(({ length }) => length > 0 && length % 3 === 0));
        assert.ok(pieces.map((piece) => piece.toBase64()).join("") === whole.toBase64());
      }
      assert.equal(gathered.length, 0);
    }
  });
});

Deno.test("writeFully() goes on until all is written, however little is taken at a time", async () => {
  const taken: number[] = [];
  const bytes = Uint8Array.of(1, 2, 3, 4, 5);
  await writeFully(
    { write: (rest) => Promise.resolve(taken.push(...rest.subarray(0, 2)) && Math.min(2, rest.length)) },
    bytes,
  );
  assert.deepEqual(taken, [...bytes]);
});
