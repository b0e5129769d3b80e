import assert from "node:assert/strict";
import { afterInitialize, afterNotification, gateRefusal, type GateState } from "../../src/server/gate.ts";

Deno.test("gateRefusal() names what is missing, in the reference's words", () => {
  const table: [GateState, string, string, string | null][] = [
    ["new", "initialize", "", null],
    ["greeted", "initialize", "", "initialize may only be sent once per connection"],
    ["ready", "initialize", "", "initialize may only be sent once per connection"],
    ["new", "process/read", "exec", "client must call initialize before using exec methods"],
    ["greeted", "process/read", "exec", "client must send initialized before using exec methods"],
    ["ready", "process/read", "exec", null],
    ["new", "fs/readFile", "filesystem", "client must call initialize before using filesystem methods"],
  ];
  for (const [state, method, family, text] of table) assert.equal(gateRefusal(state, method, family), text);
});

Deno.test("afterNotification() takes only initialized, and only after initialize", () => {
  assert.deepEqual(afterNotification("new", "initialized"), {
    violation: "initialized notification before initialize",
  });
  assert.deepEqual(afterNotification(afterInitialize(), "initialized"), { state: "ready" });
  assert.deepEqual(afterNotification("ready", "initialized"), { state: "ready" });
  for (const state of ["new", "greeted", "ready"] as const) {
    assert.deepEqual(afterNotification(state, "process/read"), {
      violation: "unexpected notification `process/read`",
    });
  }
});
