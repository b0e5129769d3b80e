/**
 * One launch plan carried out: its descriptors are opened, its program is started with exactly those, and its report
 * tells whether the sandbox stands before anybody is told that the process runs.
 */

import { DomainError } from "../errors.ts";
import { parseFirstProcess } from "../launch/bubblewrap.ts";
import type { LaunchPlan } from "../launch/launch_plan.ts";
import { parseStubReport, type StubReport } from "../launch/launch_stub.ts";
import { closeDescriptor, readInto, setNonblocking } from "../os/descriptor.ts";
import { describeErrno } from "../os/errno.ts";
import { allocate } from "../os/libc.ts";
import { type ChildStdio, spawnExactly } from "../os/spawn.ts";
import type { Confinement, PreparedLaunch } from "./backend.ts";
import type { Leftovers } from "../os/leftovers.ts";
import type { Reactor } from "../os/reactor.ts";
import { PlanDescriptors, PlanOutdatedError } from "./plan_descriptors.ts";
import { receiveReport } from "./launch_report.ts";
import { ViewCheck } from "./view_check.ts";

/** A plan is outdated only by somebody who moves a named path in the millisecond after it was looked at. */
const MAX_PLANS = 5;

/** Setting up takes some milliseconds. Longer than this it hangs, for example on a mount that does not answer. */
const SET_UP_TIMEOUT_MS = 30_000;

/** As much of a wrapper's complaint as fits into one message. */
const MAX_COMPLAINT_CHARACTERS = 500;

/** The child could not be started inside its sandbox; nothing of the command has run. */
export class SandboxSetUpError extends DomainError {
  override readonly name = "SandboxSetUpError";
  readonly report: Exclude<StubReport, { type: "executed" }>;
  /** What the wrapper wrote to its error output. */
  readonly complaint: string;

  constructor(report: Exclude<StubReport, { type: "executed" }>, complaint: string) {
    super("internal", describe(report, complaint));
    this.report = report;
    this.complaint = complaint;
  }
}

function describe(report: SandboxSetUpError["report"], complaint: string): string {
  // To the command there is no such program: the same text as without a sandbox.
  if (report.type === "notExecuted") return describeErrno(report.errno);
  const reason = report.errno === null ? "" : `: ${describeErrno(report.errno)}`;
  const words = complaint.trim().slice(0, MAX_COMPLAINT_CHARACTERS);
  return `Cannot start process in its sandbox: cannot ${report.failure}${reason}${words === "" ? "" : `: ${words}`}`;
}

/** What a started child said of its sandbox. */
export interface LaunchOutcome {
  readonly report: StubReport;
  /** The process inside that ends last of all; null when there is none, or it is the child itself. */
  readonly firstPid: number | null;
  /** Of the filter that takes the network away, owned by the caller; null when it has none. */
  readonly listener: number | null;
}

export class ConfinedLaunch {
  readonly #plan: LaunchPlan;
  readonly #release: () => void;
  readonly #descriptors: PlanDescriptors;
  readonly #view: ViewCheck | null;

  /** Has launches prepared until one can be carried out as it is. Must be followed by `spawn` or `abandon`. */
  static async prepare(confinement: Confinement, leftovers?: Leftovers): Promise<ConfinedLaunch> {
    for (let attempt = 1;; attempt++) {
      const prepared = await confinement.prepare(leftovers);
      try {
        return new ConfinedLaunch(prepared);
      } catch (error) {
        prepared.release();
        if (!(error instanceof PlanOutdatedError)) throw error;
        if (attempt === MAX_PLANS) {
          throw new DomainError("internal", `Cannot start process in its sandbox: ${error.message}, again and again`);
        }
      }
    }
  }

  private constructor({ plan, release }: PreparedLaunch) {
    this.#plan = plan;
    this.#view = plan.view === undefined ? null : new ViewCheck(plan.view);
    this.#descriptors = new PlanDescriptors(plan.descriptors);
    this.#release = release;
  }

  /** Whether the child is a wrapper, which may end before what it confines does. */
  get isWrapped(): boolean {
    return this.#plan.descriptors.some(({ type }) => type === "info");
  }

  /** The highest descriptor opened for the child. */
  get highestFd(): number {
    return Math.max(...this.#descriptors.sources);
  }

  /** Starts the plan's program; its pid. Throws the operating system's reason when it cannot be started. */
  spawn(stdio: ChildStdio): number {
    const { program: path, argv, cwd, env, blockedSignals } = this.#plan;
    const { sources } = this.#descriptors;
    const pid = spawnExactly({ argv, arg0: null, cwd, env }, stdio, { path, descriptors: sources, blockedSignals });
    this.#descriptors.closeSources();
    return pid;
  }

  /** For a child that was started: resolves once it runs the command, or has given up. */
  async outcome(reactor: Reactor): Promise<LaunchOutcome> {
    const { report, info } = this.#descriptors.takeMessages();
    const view = this.#view;
    let firstPid: number | null = null;
    let problem: string | null = null;
    const mayGoOn = (): boolean => {
      try {
        // Told before the wrapper lets anything inside begin.
        firstPid = info === null ? null : parseFirstProcess(readNow(info));
        problem = firstPid === null ? "nobody knows which process is the first" : view!.problem(firstPid);
      } catch (error) {
        problem = error instanceof Error ? error.message : String(error);
      }
      return problem === null;
    };
    const timeoutMs = SET_UP_TIMEOUT_MS;
    const reported = await receiveReport(reactor, report, { timeoutMs, mayGoOn: view === null ? null : mayGoOn });
    this.#descriptors.closePaths();
    if (info !== null) closeDescriptor(info);
    const listener = reported?.listener ?? null;
    if (problem !== null) {
      return { report: notConfined(`put every mount in its place: ${problem}`), firstPid, listener };
    }
    if (reported !== null) return { report: parseStubReport(reported.bytes), firstPid, listener };
    return { report: notConfined(`set up the sandbox within ${SET_UP_TIMEOUT_MS / 1000} s`), firstPid, listener };
  }

  /** There is no child. */
  abandon(): void {
    this.#descriptors.closeAll();
    this.#release();
  }

  /** Nothing inside runs any more. */
  release(): void {
    this.#release();
  }
}

function notConfined(failure: string): StubReport {
  return { type: "notConfined", failure, errno: null };
}

/** Several times what the wrapper has to tell. */
const MAX_INFO_BYTES = 4096;

/** What is in a pipe already. */
function readNow(pipe: number): Uint8Array {
  setNonblocking(pipe);
  const bytes = allocate(MAX_INFO_BYTES);
  return bytes.subarray(0, Math.max(0, readInto(pipe, bytes)));
}
