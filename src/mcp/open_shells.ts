/** Supervised shells on this system, with the backend and the sandboxes of the websocket server. */

import type { Clock } from "../clock.ts";
import { invalidRequest } from "../errors.ts";
import { SandboxService } from "../launch/sandbox_service.ts";
import type { Logger } from "../log.ts";
import { whyNoLibc } from "../os/libc_access.ts";
import { PosixBackend } from "../process/posix/posix_backend.ts";
import { runPlan, runProgram } from "../process/posix/run_plan.ts";
import type { SupervisedShells } from "./supervised_shell.ts";
import { KernelSupervisedShells } from "./supervised_shells.ts";

export interface OpenShellsOptions {
  /** Without credentials of ours. */
  readonly serverEnv: Readonly<Record<string, string>>;
  readonly log: Logger;
  readonly clock: Clock;
}

/** If shells cannot be supervised here, every call is refused. */
export function openShells({ serverEnv, log, clock }: OpenShellsOptions): SupervisedShells {
  const reason = whyNoLibc();
  if (reason !== null) return refusingShells(reason);
  const backend = new PosixBackend({ logger: log });
  const service = new SandboxService({
    setting: "auto",
    serverEnv,
    log,
    clock,
    launch: (plan) => runPlan(backend, plan),
    run: (program, args) => runProgram(backend, program, args),
  });
  const shells = new KernelSupervisedShells({ backend, service, serverEnv });
  return {
    obstacle: () => shells.obstacle(),
    start: (options) => shells.start(options),
    close: async () => {
      await shells.close();
      await backend.close({ graceMs: 0 });
    },
  };
}

function refusingShells(reason: string): SupervisedShells {
  return {
    obstacle: () => Promise.resolve(reason),
    start: () => Promise.reject(invalidRequest(`Cannot supervise the shell's programs: ${reason}`)),
    close: () => Promise.resolve(),
  };
}
