/**
 * Carries out one launch plan: opens its descriptors, starts its program with exactly those, and reads its report,
 * which tells whether the sandbox is complete before anybody is told that the process runs.
 */

import { DomainError, messageOf } from "../../errors.ts";
import { parseFirstProcess } from "../../launch/backends/bubblewrap.ts";
import type { LaunchPlan, PreparedLaunch } from "../../launch/launch_plan.ts";
import { parseStubReport, type StubReport } from "../../launch/stub/launch_stub.ts";
import { closeDescriptor, readInto, setNonblocking } from "../../os/descriptor.ts";
import { describeErrno, ENOENT } from "../../os/errno.ts";
import { allocate } from "../../os/libc.ts";
import { onlyChildOf } from "../../os/children/procfs.ts";
import { type ChildStdio, spawnExactly } from "../../os/children/spawn.ts";
import type { Confinement } from "../backend.ts";
import { fillMemoryFile } from "../../os/files/memory_file.ts";
import { ownUid } from "../../os/own_ids.ts";
import type { Leftovers } from "./leftovers.ts";
import type { Reactor } from "../../os/loop/reactor.ts";
import { PlanDescriptors, PlanOutdatedError } from "./plan_descriptors.ts";
import { protectedNullInput } from "./protected_input.ts";
import { receiveReport } from "./launch_report.ts";
import { ViewCheck } from "./view_check.ts";
import type { LateStart } from "./waiting_sandbox.ts";

/** A plan is outdated only if a program moves a named path in the millisecond after it was looked at. */
const MAX_PLANS = 5;

/** Setting up takes some milliseconds. Beyond this it hangs, for example on a mount that does not answer. */
const SET_UP_TIMEOUT_MS = 30_000;

/** As much of a wrapper's error text as fits into one message. */
const MAX_COMPLAINT_CHARACTERS = 500;

/** The child could not be started inside its sandbox; nothing of the command has run. */
export class SandboxSetUpError extends DomainError {
  override readonly name = "SandboxSetUpError";
  readonly report: Exclude<StubReport, { type: "executed" }>;
  /** What the wrapper wrote to its error output. */
  readonly complaint: string;

  constructor(report: Exclude<StubReport, { type: "executed" }>, complaint: string) {
    super("internal", describe(report, complaint), isNotFound(report) ? { detail: MISSING_INTERPRETER } : undefined);
    this.report = report;
    this.complaint = complaint;
  }
}

/** For the log. The program itself was looked up before the sandbox was made. */
const MISSING_INTERPRETER = "the interpreter of the program is missing in the sandbox";

function isNotFound(report: SandboxSetUpError["report"]): boolean {
  return report.type === "notExecuted" && report.errno === ENOENT;
}

function describe(report: SandboxSetUpError["report"], complaint: string): string {
  // For the command there is no such program: the same text as without a sandbox.
  if (report.type === "notExecuted") return describeErrno(report.errno);
  const reason = report.errno === null ? "" : `: ${describeErrno(report.errno)}`;
  const words = complaint.trim().slice(0, MAX_COMPLAINT_CHARACTERS);
  return `Cannot start process in its sandbox: cannot ${report.failure}${reason}${words === "" ? "" : `: ${words}`}`;
}

/** What a started child reported about its sandbox. */
export interface LaunchOutcome {
  readonly report: StubReport;
  /** The process inside that ends last; null when there is none, or it is the child itself. */
  readonly firstPid: number | null;
  /** Who stays behind to tell how the command ended, and in which pipe; of a plan that has such a stub. */
  readonly teller?: { readonly pipe: number; readonly pid: number | null };
  /** What a wrapper said of its failure, if it did not say it where the command writes. */
  readonly complaint: string;
}

export class ConfinedLaunch {
  readonly #plan: LaunchPlan;
  readonly #policy: PreparedLaunch["policy"];
  readonly #release: () => void;
  readonly #descriptors: PlanDescriptors;
  readonly #view: ViewCheck | null;
  #pid: number | null = null;

  /** Prepares launches until one can be carried out as it is. Must be followed by `spawn` or `abandon`. */
  static async prepare(confinement: Confinement, leftovers?: Leftovers): Promise<ConfinedLaunch> {
    for (let attempt = 1;; attempt++) {
      const prepared = await confinement.prepare(leftovers);
      try {
        return new ConfinedLaunch(prepared);
      } catch (error) {
        prepared.release();
        if (!(error instanceof PlanOutdatedError)) throw error;
        if (attempt === MAX_PLANS) {
          throw new DomainError(
            "internal",
            `Cannot start process in its sandbox: ${error.message} in each of ${MAX_PLANS} attempts`,
          );
        }
      }
    }
  }

  private constructor({ plan, policy, release }: PreparedLaunch) {
    this.#plan = plan;
    this.#policy = policy;
    this.#view = plan.view === undefined ? null : new ViewCheck(plan.view);
    this.#descriptors = new PlanDescriptors(plan.descriptors);
    this.#release = release;
  }

  /** Whether the child itself stays outside, and may end before the processes it confines. */
  get isWrapped(): boolean {
    return this.#plan.view !== undefined;
  }

  /** The highest descriptor opened for the child. */
  get highestFd(): number {
    return Math.max(...this.#descriptors.sources);
  }

  /** Starts the plan's program and returns its pid. Throws the operating system's reason when it cannot be started. */
  spawn(stdio: ChildStdio): number {
    const { program: path, argv, cwd, env, blockedSignals } = this.#plan;
    const own = this.#descriptors.placeOutputs(stdio);
    const { sources } = this.#descriptors;
    const start = { path, descriptors: sources, blockedSignals };
    const pid = spawnExactly({ argv, arg0: null, cwd, env }, withProtectedInput(own), start);
    this.#descriptors.closeSources();
    this.#pid = pid;
    return pid;
  }

  /** What the plan enforces; undefined where nothing is confined. */
  get policy(): PreparedLaunch["policy"] {
    return this.#policy;
  }

  /**
   * For a started child: resolves once it runs the command, or has given up. The listener of its filter, if it has one,
   * is handed over as soon as it is there. A plan without a command waits for it.
   */
  async outcome(
    reactor: Reactor,
    onListener: (listener: number) => void,
    late: LateStart | null = null,
  ): Promise<LaunchOutcome> {
    const { report, info, command, end, complaint } = this.#descriptors.takeMessages();
    const view = this.#view;
    let firstPid: number | null = null;
    let tellerPid: number | null = null;
    let problem: string | null = null;
    let isHeld = false;
    const withCommand = async ({ command: given }: LateStart): Promise<boolean> => {
      const bytes = await given;
      if (bytes === null || command === null) return false;
      fillMemoryFile(command, bytes);
      isHeld = false;
      return true;
    };
    const mayGoOn = (): boolean | Promise<boolean> => {
      try {
        // bubblewrap reports it before it lets anything inside begin. Otherwise it is the child's only child.
        firstPid = info === null ? onlyChildOf(this.#pid!) : parseFirstProcess(readNow(info));
        problem = firstPid === null ? "the sandbox did not report its first process" : view!.problem(firstPid);
        // Without a wrapper it is the first process itself. Otherwise the first process has no other child yet.
        if (firstPid !== null && end !== null) tellerPid = info === null ? firstPid : onlyChildOf(firstPid);
      } catch (error) {
        problem = messageOf(error);
      }
      if (problem !== null || late === null) return problem === null;
      isHeld = true;
      late.isReady();
      return withCommand(late).catch(() => false);
    };
    const timeoutMs = SET_UP_TIMEOUT_MS;
    const options = { timeoutMs, mayGoOn: view === null ? null : mayGoOn, onListener };
    const reported = await receiveReport(reactor, report, options);
    this.#descriptors.closePaths();
    if (info !== null) closeDescriptor(info);
    if (command !== null) closeDescriptor(command);
    // Whoever has complained has ended, and with the last of them the report.
    const words = complaint === null ? "" : new TextDecoder().decode(readNow(complaint));
    if (complaint !== null) closeDescriptor(complaint);
    const outcome = ((): StubReport => {
      if (isHeld) return notConfined("wait for its command");
      if (problem !== null) return notConfined(`put every mount in its place: ${problem}`);
      if (reported !== null) return parseStubReport(reported);
      return notConfined(`set up the sandbox within ${SET_UP_TIMEOUT_MS / 1000} s`);
    })();
    if (end !== null && outcome.type === "executed") {
      return { report: outcome, firstPid, teller: { pipe: end, pid: tellerPid }, complaint: words };
    }
    if (end !== null) closeDescriptor(end);
    return { report: outcome, firstPid, complaint: words };
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

/** Of the null device user 0 could otherwise change the mode, for the whole host. */
function withProtectedInput(stdio: ChildStdio): ChildStdio {
  if (stdio.type !== "descriptors" || stdio.stdin !== null || ownUid() !== 0) return stdio;
  return { ...stdio, stdin: protectedNullInput() };
}

function notConfined(failure: string): StubReport {
  return { type: "notConfined", failure, errno: null };
}

/** Several times what a wrapper reports, or says of a failure. */
const MAX_WORDS_BYTES = 4096;

/** What is already in a pipe. */
function readNow(pipe: number): Uint8Array {
  setNonblocking(pipe);
  const bytes = allocate(MAX_WORDS_BYTES);
  return bytes.subarray(0, Math.max(0, readInto(pipe, bytes)));
}
