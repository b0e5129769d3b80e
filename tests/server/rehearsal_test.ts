import assert from "node:assert/strict";
import { systemClock } from "../../src/clock.ts";
import { environmentInfo, hostFacts } from "../../src/environment/info.ts";
import { silentLogger } from "../../src/log.ts";
import { LazyBackend } from "../../src/process/lazy_backend.ts";
import { ClosedLedger } from "../../src/process/session/closed_ledger.ts";
import { ShellStateLedger } from "../../src/environment/shell_snapshot/state_ledger.ts";
import { OutputReserve } from "../../src/process/session/output_reserve.ts";
import { LateMethods } from "../../src/server/late_methods.ts";
import { loadProcesses } from "../../src/server/late_processes.ts";
import { bindMethods } from "../../src/server/methods/bind_methods.ts";
import { ProcessDirectory } from "../../src/server/process_directory.ts";
import { rehearse } from "../../src/server/rehearsal.ts";
import { type ProcessSettings, SessionState } from "../../src/server/session_state.ts";

Deno.test("rehearse() asks what clients ask first, is answered, and ends its session", async () => {
  const host = hostFacts();
  const info = environmentInfo(host, { setting: "auto", hasLibc: true, mayConfine: true, mayTunnel: false });
  const sandboxing = () => Promise.reject(new Error("nobody asks for a sandbox"));
  const methods = new LateMethods(async () => {
    await loadProcesses();
    return bindMethods({ clock: systemClock, host, info, sandboxing, retainedOutputBytes: 1024, allowTunnel: false });
  });
  await methods.load();
  const ended: string[] = [];
  const createResources = () => {
    const log = silentLogger();
    const settings = { backend: new LazyBackend(log), serverEnv: {} } as unknown as ProcessSettings;
    const state = new SessionState(settings, {
      clock: systemClock,
      log,
      directory: new ProcessDirectory({ isShared: false }),
      closedLedger: new ClosedLedger({ clock: systemClock, log }),
      outputReserve: new OutputReserve(),
      shellStates: new ShellStateLedger(),
    });
    const end = state.end.bind(state);
    state.end = (reason, graceMs) => {
      ended.push(reason);
      return end(reason, graceMs);
    };
    return state;
  };
  const answers = await rehearse({ clock: systemClock, methods, environmentInfo: info, createResources });
  assert.deepEqual(
    answers.map((text) => Object.keys(JSON.parse(text)).sort().join()),
    Array.from({ length: 8 }, () => "id,result"),
    answers.join("\n"),
  );
  assert.deepEqual(ended, ["sessionExpired"]);
});
