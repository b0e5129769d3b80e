/** When output is acknowledged, with a session that only counts. */

import assert from "node:assert/strict";
import { Acknowledger } from "../../../src/client/process/acknowledger.ts";
import type { Session } from "../../../src/client/session/session.ts";

const WINDOW_BYTES = 1024 * 1024;
const CHUNK_BYTES = 64 * 1024;

function countingSession(): { session: Session; seqs: number[] } {
  const seqs: number[] = [];
  const session = {
    listen: () => () => {},
    request: (_method: string, { seq }: { seq: number }) => {
      seqs.push(seq);
      return Promise.resolve({});
    },
  };
  return { session: session as unknown as Session, seqs };
}

Deno.test("Acknowledger sends one for each half of the window, and the rest a little later", async () => {
  const { session, seqs } = countingSession();
  let taken = 0;
  const acknowledger = new Acknowledger(session, { processId: "p" }, () => taken);
  acknowledger.windowBytes = WINDOW_BYTES;
  const chunks = 16 * WINDOW_BYTES / CHUNK_BYTES + 1;
  acknowledger.finish(chunks);
  for (let chunk = 1; chunk <= chunks; chunk++) {
    taken = chunk;
    acknowledger.taken(CHUNK_BYTES);
    await Promise.resolve(); // The answer to the one before.
  }
  const perHalf = WINDOW_BYTES / 2 / CHUNK_BYTES;
  assert.deepEqual(seqs, Array.from({ length: 32 }, (_, i) => (i + 1) * perHalf));
  await new Promise<void>((resolve) => {
    const look = () => seqs.length === 33 ? resolve() : setTimeout(look, 5);
    look();
  });
  assert.equal(seqs.at(-1), chunks);
});
