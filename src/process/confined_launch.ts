/**
 * One launch plan carried out: its descriptors are opened, its program is started with exactly those, and its report
 * tells whether the sandbox stands before anybody is told that the process runs.
 */

import { DomainError } from "../errors.ts";
import { parseFirstProcess } from "../launch/bubblewrap.ts";
import type { LaunchPlan } from "../launch/launch_plan.ts";
import { parseStubReport, type StubReport } from "../launch/launch_stub.ts";
import { describeErrno } from "../os/errno.ts";
import { type ChildStdio, spawnExactly } from "../os/spawn.ts";
import type { Confinement, PreparedLaunch } from "./backend.ts";
import type { Leftovers } from "../os/leftovers.ts";
import type { Reactor } from "../os/reactor.ts";
import { PlanDescriptors, PlanOutdatedError } from "./plan_descriptors.ts";
import { receiveReport } from "./launch_report.ts";
import { readShort } from "./short_message.ts";

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
    const timeoutMs = SET_UP_TIMEOUT_MS;
    const [reported, informed] = await Promise.all([
      receiveReport(reactor, report, { timeoutMs }),
      info === null ? null : readShort(reactor, info, { timeoutMs }),
    ]);
    const firstPid = informed === null ? null : parseFirstProcess(informed);
    if (reported !== null) {
      return { report: parseStubReport(reported.bytes), firstPid, listener: reported.listener };
    }
    const failure = `set up the sandbox within ${SET_UP_TIMEOUT_MS / 1000} s`;
    return { report: { type: "notConfined", failure, errno: null }, firstPid, listener: null };
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
