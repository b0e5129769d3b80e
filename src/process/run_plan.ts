/** Carries a launch plan out to its end, for programs that are ours and short. */

import type { LaunchPlan } from "../launch/launch_plan.ts";
import type { StubReport } from "../launch/launch_stub.ts";
import type { ProcessBackend } from "./backend.ts";
import { SandboxSetUpError } from "./confined_launch.ts";
import { exitCodeOf, SIGKILL } from "./signals.ts";

export interface FinishedPlan {
  readonly code: number;
  readonly stderr: string;
  readonly report: StubReport;
}

/** Longer than any canary takes on a busy machine. */
const TIMEOUT_MS = 15_000;

export async function runPlan(backend: ProcessBackend, plan: LaunchPlan): Promise<FinishedPlan> {
  const decoder = new TextDecoder();
  const exited = Promise.withResolvers<number>();
  const outputEnded = Promise.withResolvers<void>();
  let stderr = "";
  const request = {
    argv: plan.argv,
    arg0: null,
    cwd: plan.cwd,
    env: plan.env,
    io: { type: "pipe", stdin: "closed" },
    confinement: { prepare: () => Promise.resolve({ plan, release: () => {} }) },
  } as const;
  try {
    const child = await backend.spawn(request, {
      output: (stream, bytes) => {
        if (stream === "stderr") stderr += decoder.decode(bytes, { stream: true });
      },
      exited: (status) => exited.resolve(exitCodeOf(status)),
      outputEnded: () => outputEnded.resolve(),
    });
    const timer = setTimeout(() => child.signalGroup(SIGKILL), TIMEOUT_MS);
    const [code] = await Promise.all([exited.promise, outputEnded.promise]);
    clearTimeout(timer);
    child.dispose();
    return { code, stderr, report: { type: "executed" } };
  } catch (error) {
    if (!(error instanceof SandboxSetUpError)) throw error;
    return { code: -1, stderr: error.complaint, report: error.report };
  }
}
