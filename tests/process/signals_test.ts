import assert from "node:assert/strict";
import { exitCodeOf, SIGKILL, signalNumber, signalText, SIGSYS, SIGTERM } from "../../src/process/signals.ts";
import { SIGNAL_NAMES } from "../../src/protocol/process.ts";

Deno.test("exitCodeOf() is the status, 128 and the signal, or -1", () => {
  assert.equal(exitCodeOf({ type: "exited", code: 0 }), 0);
  assert.equal(exitCodeOf({ type: "exited", code: 255 }), 255);
  assert.equal(exitCodeOf({ type: "signaled", signal: 9 }), 137);
  assert.equal(exitCodeOf({ type: "unknown" }), -1);
});

Deno.test("signalText() names signals and shows the number of one without a name", () => {
  assert.deepEqual([signalText(SIGKILL), signalText(SIGTERM), signalText(SIGSYS)], ["SIGKILL", "SIGTERM", "SIGSYS"]);
  assert.equal(signalText(40), "SIG40");
});

Deno.test({
  name: "signalNumber() agrees with this host's kill",
  ignore: Deno.build.os === "windows",
  async fn() {
    for (const name of SIGNAL_NAMES) {
      const shellName = name === "interrupt" ? "INT" : name.toUpperCase();
      const { stdout } = await new Deno.Command("/bin/sh", { args: ["-c", `kill -l ${signalNumber(name)}`] }).output();
      assert.equal(new TextDecoder().decode(stdout).trim(), shellName);
    }
  },
});
