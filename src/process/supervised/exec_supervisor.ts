/**
 * Decides every execution of a program in one shell: asks the judge, and carries out what it says.
 *
 * Nothing runs undecided. What cannot be read, or whose caller is being traced by somebody else, fails with an error.
 * The first call is our own: by it the launch stub becomes the shell. What runs inside is protected by the sandbox, and
 * not by the decision (`sandbox/README.md` says why), unless strict supervision is asked for.
 */

import { messageOf } from "../../errors.ts";
import { describeErrno, EACCES } from "../../os/errno.ts";
import { lossyText } from "../../os/files/byte_string.ts";
import { processOf } from "../../os/children/foreign_process.ts";
import type { PreparedLaunch } from "../../launch/launch_plan.ts";
import type { ExecAnswerer } from "../posix/exec_answerer.ts";
import type { SupervisedCall } from "../posix/supervised_calls.ts";
import { endCaller, tellCaller, whenCallerGone } from "./caller.ts";
import { HeldCaller } from "./held_caller.ts";
import { type EscalationOptions, Escalations } from "./escalation.ts";
import {
  CANNOT_LEAVE,
  type EscalationOutcome,
  type ExecCall,
  type ExecJudge,
  type ExecVerdict,
  type UndecidedCall,
} from "./exec_decision.ts";
import { describeExec, ExecExperience, type ExecRequest, readExecRequest, type WaitingExec } from "./exec_request.ts";
import { Lineage } from "./lineage.ts";
import { runStrictly } from "./strict_exec.ts";

/** Reads of callers' memory at the same time: they occupy threads of the runtime's pool. */
const MAX_READS = 8;

/** A decision that takes longer waits for a person, and must learn when its caller is gone. */
const QUICK_DECISION_MS = 20;

export interface ExecSupervisorOptions extends EscalationOptions {
  /** `shell`: only what the shell itself executes is decided. */
  readonly intercept: "all" | "shell";
  /** Whether programs that the shell started may leave the sandbox too. */
  readonly escalate: "shell" | "all";
  readonly strictExec: boolean;
  readonly judge: ExecJudge;
}

export interface ExecCounters {
  execs: number;
  run: number;
  escalated: number;
  denied: number;
  mismatched: number;
  refused: number;
}

export class ExecSupervisor implements ExecAnswerer {
  readonly counters: ExecCounters = { execs: 0, run: 0, escalated: 0, denied: 0, mismatched: 0, refused: 0 };
  readonly #options: ExecSupervisorOptions;
  readonly #escalations: Escalations;
  #lineage: Lineage | null = null;
  readonly #experience = new ExecExperience();
  #reads = 0;
  readonly #waitingReads: (() => void)[] = [];

  constructor(options: ExecSupervisorOptions) {
    this.#options = options;
    this.#escalations = new Escalations(options);
  }

  begins(policy: PreparedLaunch["policy"]): void {
    this.#escalations.begins(policy);
  }

  answer(call: SupervisedCall): void {
    if (this.#lineage === null) {
      this.#lineage = new Lineage(call.tid);
      call.letThrough();
      return;
    }
    this.#decide(call, this.#lineage).catch((error) => {
      call.fail(EACCES);
      reportError(error);
    });
  }

  ended(): void {
    this.#lineage?.close();
  }

  /** Ends what still runs outside. */
  async endEscalated(): Promise<void> {
    await this.#escalations.end();
  }

  async #decide(call: SupervisedCall, lineage: Lineage): Promise<void> {
    const pid = processOf(call.tid);
    if (pid === null) {
      return this.#fail(call, { pid: call.tid, isShell: false, file: null }, { errno: EACCES });
    }
    const isShell = lineage.isShell(pid);
    if (!isShell && this.#options.intercept === "shell") return void call.letThrough();
    const request = await this.#read(call, { pid, isShell });
    if (request === null) return;
    this.counters.execs++;
    const whyItStays = (pathIsNamed: boolean) => this.#escalations.whyItStays(request, pathIsNamed);
    const described: ExecCall = Object.assign(describeExec(request), { pid, isShell, whyItStays });
    const verdict = await this.#ask(described);
    switch (verdict.kind) {
      case "run":
        return await this.#run(call, request, described);
      case "deny":
        return await this.#deny(call, verdict.reason);
      case "escalate":
        if (!isShell && this.#options.escalate === "shell") return await this.#run(call, request, described);
        return await this.#escalate(call, request, { described, verdict });
    }
  }

  /** Null when there is nothing to decide: the call failed, or nobody waits for it any more. */
  async #read(call: SupervisedCall, caller: Pick<ExecCall, "pid" | "isShell">): Promise<WaitingExec | null> {
    const { isShell } = caller;
    try {
      const request = await this.#inTurn(() => readExecRequest(call, { experience: this.#experience, isShell }));
      if (!call.isWaiting) return null;
      if (!("errno" in request)) return request;
      const { errno, file } = request;
      this.#fail(call, { ...caller, file: file === null ? null : lossyText(file) }, { errno });
    } catch (error) {
      this.#fail(call, { ...caller, file: null }, { errno: EACCES, reason: messageOf(error) });
      reportError(error);
    }
    return null;
  }

  #fail(
    call: SupervisedCall,
    undecided: UndecidedCall,
    { errno, reason = describeErrno(errno) }: { errno: number; reason?: string },
  ): void {
    // Where nobody waited any more, nothing has failed.
    if (call.fail(errno)) this.#options.judge.onUndecided?.(undecided, reason);
  }

  async #ask(call: ExecCall): Promise<ExecVerdict> {
    const abort = new AbortController();
    try {
      const verdict = this.#options.judge.decide(call, abort.signal);
      return verdict instanceof Promise ? await this.#waitFor(verdict, call, abort) : verdict;
    } catch {
      return { kind: "deny", reason: null };
    }
  }

  /** For as long as the caller is there. */
  async #waitFor(verdict: Promise<ExecVerdict>, call: ExecCall, abort: AbortController): Promise<ExecVerdict> {
    const { reactor } = this.#options;
    let stopWatch = (): void => {};
    const timer = setTimeout(() => {
      stopWatch = whenCallerGone(reactor, call.pid, () => abort.abort());
    }, QUICK_DECISION_MS);
    try {
      return await verdict;
    } finally {
      clearTimeout(timer);
      stopWatch();
    }
  }

  async #run(call: SupervisedCall, request: WaitingExec, described: ExecCall): Promise<void> {
    const { strictExec, judge } = this.#options;
    // A name that begins in the caller's directory or descriptor can be made to mean another file.
    const isUncertain = request.identity === null && !request.name.path.startsWith("/");
    if (strictExec && isUncertain) {
      return await this.#deny(call, `cannot find out which file ${described.file} is`);
    }
    if (!call.isWaiting) return;
    if (this.#lineage?.executes(described.pid) === false) return void call.fail(EACCES);
    this.counters.run++;
    if (!strictExec) return void call.letThrough();
    const outcome = await runStrictly(call, request, described.pid);
    if (outcome === "killed") this.counters.mismatched++;
    if (outcome === "killed" || outcome === "refused") judge.onStrictEnd?.(described, outcome);
  }

  async #deny(call: SupervisedCall, reason: string | null): Promise<void> {
    this.counters.denied++;
    await tellCaller(call, reason === null ? "Execution denied" : `Execution denied: ${reason}`);
    await endCaller(call, 1);
  }

  async #escalate(
    call: SupervisedCall,
    request: ExecRequest,
    { described, verdict }: { described: ExecCall; verdict: ExecVerdict & { readonly kind: "escalate" } },
  ): Promise<void> {
    this.counters.escalated++;
    const tell = (outcome: EscalationOutcome): void => this.#options.judge.onEscalated?.(described, outcome);
    const held = new HeldCaller(call, this.#options.reactor);
    const result = await this.#escalations.run(call, request, {
      pathIsNamed: verdict.pathIsNamed === true,
      passFds: verdict.passFds === true,
      onStarting: (pid) => held.hold(pid),
      onStarted: ({ pid }) => tell({ type: "started", pid }),
    }).catch((error): { type: "refused"; reason: string } => ({
      type: "refused",
      reason: messageOf(error),
    }));
    tell(result);
    if (result.type === "abandoned") return await held.release();
    if (result.type === "exited") return await held.end(result.exitCode);
    this.counters.refused++;
    await tellCaller(call, `Execution denied: ${CANNOT_LEAVE}: ${result.reason}`);
    await held.end(1);
  }

  async #inTurn<Value>(work: () => Promise<Value>): Promise<Value> {
    if (this.#reads >= MAX_READS) await new Promise<void>((resolve) => this.#waitingReads.push(resolve));
    this.#reads++;
    try {
      return await work();
    } finally {
      this.#reads--;
      this.#waitingReads.shift()?.();
    }
  }
}
