/** Runs our own short programs to their end, through the same backend as the server's processes. */

import type { LaunchPlan } from "../../launch/launch_plan.ts";
import type { StubReport } from "../../launch/stub/launch_stub.ts";
import type { ProcessBackend, SpawnRequest } from "../backend.ts";
import { SandboxSetUpError } from "./confined_launch.ts";
import { exitCodeOf, SIGKILL } from "../signals.ts";

export interface FinishedProgram {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface FinishedPlan {
  readonly code: number;
  readonly stderr: string;
  readonly report: StubReport;
}

/** Longer than any of them takes on a busy machine. */
const TIMEOUT_MS = 15_000;

/** With an empty environment, in the root directory. Rejects when it cannot be started. */
export async function runProgram(
  backend: ProcessBackend,
  program: string,
  args: readonly string[],
): Promise<FinishedProgram> {
  return await runToEnd(backend, { argv: [program, ...args], cwd: "/", env: {} });
}

export async function runPlan(backend: ProcessBackend, plan: LaunchPlan): Promise<FinishedPlan> {
  const confinement = { prepare: () => Promise.resolve({ plan, release: () => {} }) };
  try {
    const { code, stderr } = await runToEnd(backend, { argv: plan.argv, cwd: plan.cwd, env: plan.env, confinement });
    return { code, stderr, report: { type: "executed" } };
  } catch (error) {
    if (!(error instanceof SandboxSetUpError)) throw error;
    return { code: -1, stderr: error.complaint, report: error.report };
  }
}

async function runToEnd(
  backend: ProcessBackend,
  command: Pick<SpawnRequest, "argv" | "cwd" | "env" | "confinement">,
): Promise<FinishedProgram> {
  const decoders = { stdout: new TextDecoder(), stderr: new TextDecoder() };
  const text = { stdout: "", stderr: "" };
  const exited = Promise.withResolvers<number>();
  const outputEnded = Promise.withResolvers<void>();
  const request: SpawnRequest = { ...command, arg0: null, io: { type: "pipe", stdin: "closed" } };
  const child = await backend.spawn(request);
  child.begin({
    output: (stream, bytes) => {
      if (stream !== "pty") text[stream] += decoders[stream].decode(bytes, { stream: true });
    },
    exited: (status) => exited.resolve(exitCodeOf(status)),
    outputEnded: () => outputEnded.resolve(),
  });
  const timer = setTimeout(() => child.signalGroup(SIGKILL), TIMEOUT_MS);
  const [code] = await Promise.all([exited.promise, outputEnded.promise]);
  clearTimeout(timer);
  child.dispose();
  return { code, ...text };
}
