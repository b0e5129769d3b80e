import assert from "node:assert/strict";
import { OutputHub } from "../../../src/client/process/output_hub.ts";
import type { ProcessEvent } from "../../../src/client/process/event_queue.ts";
import { statusOf } from "../../../src/client/process/process_status.ts";

const STATUS = statusOf({
  exitCode: 0,
  sandboxDenied: false,
  endReason: "exit",
  signal: null,
  networkDenials: null,
  failure: null,
});

Deno.test("OutputHub.events() has the output, the exit and the end of a process that was over before they were asked for", async () => {
  const hub = new OutputHub({ type: "acknowledged" }, 0, () => {});
  hub.add(1, "stdout", new TextEncoder().encode("hi"));
  hub.passed(2, { type: "exited", seq: 2, status: STATUS });
  hub.passed(3, { type: "closed", seq: 3 });
  hub.end(null);
  const events: ProcessEvent[] = [];
  for await (const event of hub.events()) events.push(event);
  assert.deepEqual(events.map(({ type, seq }) => [type, seq]), [["output", 1], ["exited", 2], ["closed", 3]]);
});

Deno.test("OutputHub.events() reports output that drained while the end was awaited as a gap", async () => {
  const hub = new OutputHub({ type: "acknowledged" }, 0, () => {});
  hub.letFlow();
  const chunk = new Uint8Array(100_000);
  for (let seq = 1; seq <= 3; seq++) hub.add(seq, "stdout", chunk);
  hub.add(4, "stderr", new TextEncoder().encode("kept"));
  hub.passed(5, { type: "exited", seq: 5, status: STATUS });
  hub.passed(6, { type: "closed", seq: 6 });
  hub.end(null);
  const events: ProcessEvent[] = [];
  for await (const event of hub.events()) events.push(event);
  assert.deepEqual(events[0], { type: "gap", seq: 3, droppedBytes: 300_000 });
  assert.deepEqual(events.slice(1).map(({ type, seq }) => [type, seq]), [["output", 4], ["exited", 5], ["closed", 6]]);
  assert.equal(hub.snapshot("stdout").totalBytes, 300_000);
});

Deno.test("OutputHub.events() fails with the error that had ended everything before", async () => {
  const hub = new OutputHub({ type: "acknowledged" }, 0, () => {});
  hub.end(new Error("lost"));
  await assert.rejects(hub.events().next(), /lost/);
});
