import assert from "node:assert/strict";
import { WriteIds } from "../../../src/process/session/write_ids.ts";

Deno.test("WriteIds knows at least the last 4096 ids", () => {
  const ids = new WriteIds();
  for (let number = 0; number < 20_000; number++) {
    ids.add(`w${number}`);
    assert(ids.has(`w${Math.max(0, number - 4095)}`), `4095 before ${number}`);
  }
  assert(!ids.has("never"));
});

Deno.test("WriteIds forgets: it never holds more than twice its capacity", () => {
  const ids = new WriteIds(10);
  for (let number = 0; number < 1000; number++) {
    ids.add(`${number}`);
    let known = 0;
    for (let earlier = 0; earlier <= number; earlier++) if (ids.has(`${earlier}`)) known++;
    assert(known <= 20, `${known} known after ${number}`);
  }
});
