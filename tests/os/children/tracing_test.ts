/** What becomes of a traced process whose tracer is killed. */

import assert from "node:assert/strict";
import { readSysctl } from "../../../src/os/children/procfs.ts";
import { CAN_TRACE } from "../../../src/os/children/tracing.ts";

const SEIZING = new URL("../../fixtures/seizing.ts", import.meta.url).pathname;

/** The tracer here is no ancestor of whom it traces. */
const isForbidden = (readSysctl("kernel.yama.ptrace_scope") ?? "0") !== "0";

/** How a process ends that is traced when the tracer is killed, and then told to end. */
async function endOf(way: "ends" | "goes on"): Promise<Deno.Signal | null> {
  const target = new Deno.Command("cat", { stdin: "piped", stdout: "null" }).spawn();
  const args = ["run", "-A", "--no-config", SEIZING, `${target.pid}`, way];
  const tracer = new Deno.Command(Deno.execPath(), { args, stdout: "piped" }).spawn();
  const said = tracer.stdout.pipeThrough(new TextDecoderStream()).getReader();
  assert.equal((await said.read()).value, "true\n");
  tracer.kill("SIGKILL");
  await tracer.status;
  await said.cancel();
  if (way === "ends") await target.status;
  await target.stdin.close().catch(() => {});
  return (await target.status).signal;
}

Deno.test({
  name: "a traced process goes on when its tracer is killed, unless it is to end with it" +
    (CAN_TRACE && !isForbidden ? "" : " (SKIPPED: tracing is forbidden, or not known here)"),
  ignore: !CAN_TRACE || isForbidden,
  async fn() {
    assert.equal(await endOf("goes on"), null);
    assert.equal(await endOf("ends"), "SIGKILL");
  },
});
