import assert from "node:assert/strict";
import { EventRouter } from "../../../src/process/session/event_router.ts";
import { RESUME_BATCH } from "../../../src/process/limits.ts";
import { ManualClock } from "../../support/manual_clock.ts";
import { RecordingSink } from "../../support/process_session.ts";

function setUp(stalledCount: number) {
  const clock = new ManualClock();
  const router = new EventRouter(clock);
  const sink = new RecordingSink();
  router.setSink(sink);
  const resumed: number[] = [];
  for (let index = 0; index < stalledCount; index++) {
    router.addStalled({ resumeOutput: () => void resumed.push(index) });
  }
  return { clock, router, sink, resumed };
}

Deno.test("EventRouter resumes stalled sources in batches, the longest wait first", () => {
  const { clock, router, resumed } = setUp(RESUME_BATCH * 2 + 1);
  router.resumeStalled();
  assert.deepEqual(resumed, Array.from({ length: RESUME_BATCH }, (_, index) => index));
  clock.advance(1);
  assert.equal(resumed.length, RESUME_BATCH * 2);
  clock.advance(1);
  assert.equal(resumed.length, RESUME_BATCH * 2 + 1);
  assert.equal(clock.pending, 0);
});

Deno.test("EventRouter stops resuming when there is no room, and goes on when there is room again", () => {
  const { clock, router, sink, resumed } = setUp(RESUME_BATCH + 5);
  router.resumeStalled();
  sink.hasRoom = false;
  clock.advance(1);
  assert.equal(resumed.length, RESUME_BATCH);
  assert.equal(clock.pending, 0);
  sink.hasRoom = true;
  router.resumeStalled();
  assert.equal(resumed.length, RESUME_BATCH + 5);
});

Deno.test("EventRouter resumes everything at once when there is no sink to overfill", () => {
  const { clock, router, resumed } = setUp(RESUME_BATCH * 10);
  router.setSink(null);
  assert.equal(resumed.length, RESUME_BATCH * 10);
  assert.equal(clock.pending, 0);
});

Deno.test("EventRouter does not resume a source that is gone", () => {
  const { router, resumed } = setUp(0);
  const source = { resumeOutput: () => void resumed.push(1) };
  router.addStalled(source);
  router.removeStalled(source);
  router.resumeStalled();
  assert.deepEqual(resumed, []);
});
