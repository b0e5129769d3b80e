import assert from "node:assert/strict";
import { systemClock } from "../../src/clock.ts";
import { silentLogger } from "../../src/log.ts";
import { LazyBackend } from "../../src/process/lazy_backend.ts";
import { PRESENT } from "../../src/process/session/audience.ts";
import { ClosedLedger } from "../../src/process/session/closed_ledger.ts";
import { ShellStateLedger } from "../../src/environment/shell_snapshot/state_ledger.ts";
import { OutputReserve } from "../../src/process/session/output_reserve.ts";
import type { Outlet } from "../../src/server/call_context.ts";
import { loadProcesses } from "../../src/server/late_processes.ts";
import { ProcessDirectory } from "../../src/server/process_directory.ts";
import { type ProcessSettings, SessionState } from "../../src/server/session_state.ts";

const START = {
  processId: "p",
  kind: "direct",
  request: { argv: ["/bin/true"], arg0: null, cwd: "/", env: {}, io: { type: "pipe", stdin: "closed" } },
  isSandboxed: false,
  timeoutMs: null,
  idleTimeoutMs: null,
  keepOnSessionEnd: false,
} as const;

function setUp() {
  const log = silentLogger();
  const backend = new LazyBackend(log);
  const settings = {
    backend,
    serverEnv: {},
    maxProcesses: null,
    allowDirect: true,
    allowPrepared: true,
  } as unknown as ProcessSettings;
  const state = new SessionState(settings, {
    clock: systemClock,
    log,
    directory: new ProcessDirectory({ isShared: true }),
    closedLedger: new ClosedLedger({ clock: systemClock, log }),
    outputReserve: new OutputReserve(),
    shellStates: new ShellStateLedger(),
  });
  return { state, backend };
}

Deno.test("SessionState without processes ends at once, and then nothing can be started in it", async () => {
  await loadProcesses();
  const { state } = setUp();
  const ended = state.end("sessionExpired", 0);
  assert.throws(() => state.getProcess({ processId: "p" }), { message: "unknown process id p" });
  await assert.rejects(state.processes.start(START), { message: "session has ended" });
  await ended;
  assert.equal(state.findProcess({ processId: "p" }), null);
});

Deno.test("SessionState tells the outlet it has of a process that is started later, and after a resume the next one", async () => {
  await loadProcesses();
  const { state, backend } = setUp();
  for (const processId of ["first", "second"]) {
    const closed = Promise.withResolvers<void>();
    const told: string[] = [];
    const outlet: Outlet = {
      notify: (method, params) => {
        told.push(`${method} ${(params as { processId: string }).processId}`);
        if (method === "process/closed") closed.resolve();
      },
      output: () => {},
      hasRoom: true,
      wants: new Set(),
      audience: PRESENT,
    };
    state.setOutlet(outlet);
    const started = await state.processes.start({ ...START, processId });
    started.begin();
    await closed.promise;
    assert.deepEqual(told, [`process/exited ${processId}`, `process/closed ${processId}`]);
    state.setOutlet(null);
  }
  await state.end("sessionEnded", 0);
  await backend.close({ graceMs: 0 });
});
