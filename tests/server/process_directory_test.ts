/** For how long what ended sessions have left can be read. */

import assert from "node:assert/strict";
import { CLOSED_RETENTION_MS } from "../../src/process/limits.ts";
import { ProcessDirectory } from "../../src/server/process_directory.ts";
import { ProcessSession } from "../support/process_session.ts";
import { FakeAudience } from "../support/fake_audience.ts";

/** A kept process that has closed in a session that has ended. */
async function leftBehind() {
  const directory = new ProcessDirectory({ isShared: true });
  const session = new ProcessSession({ registry: directory });
  const child = await session.start({ keepOnSessionEnd: true });
  await session.manager.endAll("sessionExpired", 0);
  directory.adopt(session.manager);
  child.exit();
  const client = () => new FakeAudience(session.clock);
  return { directory, clock: session.clock, client, isThere: () => session.manager.size === 1 };
}

Deno.test("what an ended session has left is forgotten when one client, whichever, was there for its time", async () => {
  const { directory, clock, client, isThere } = await leftBehind();
  const [vanished, present] = [client(), client()];
  directory.noteClient({}, vanished);
  clock.advance(10 * CLOSED_RETENTION_MS);
  assert(isThere(), "nobody was there for certain");
  directory.noteClient({}, present);
  present.say();
  assert(isThere(), "who comes now could not have read it before");
  clock.advance(CLOSED_RETENTION_MS);
  assert(isThere());
  assert.equal(present.questions, 1);
  present.say();
  assert(!isThere());
  assert.deepEqual([vanished.questions, present.questions, clock.pending], [0, 0, 0]);
});

Deno.test("what an ended session has left does not age for a client that vanished and was dropped later", async () => {
  const { directory, clock, client, isThere } = await leftBehind();
  const session = {};
  const vanished = client();
  directory.noteClient(session, vanished);
  clock.advance(CLOSED_RETENTION_MS - 100);
  vanished.say();
  clock.advance(100_000);
  directory.noteClient(session, null);
  directory.noteClient(session, client());
  clock.advance(99);
  assert(isThere());
  const back = client();
  directory.noteClient(session, back);
  clock.advance(CLOSED_RETENTION_MS);
  back.say();
  assert(!isThere());
});
