/**
 * Children inside sandboxes: what their starts take besides a plain one, and what is left to be cleared away at the end.
 *
 * Loaded with the first of them. It brings the makers of sandboxes with it, as much code as the rest of the backend.
 */

import { EXEC_CALLS } from "../../launch/stub/seccomp.ts";
import { syscallNumber } from "../../launch/stub/syscalls.ts";
import type { ChildStdio } from "../../os/children/spawn.ts";
import type { Reactor } from "../../os/loop/reactor.ts";
import type { Confinement } from "../backend.ts";
import { ConfinedLaunch, SandboxSetUpError } from "./confined_launch.ts";
import { DenialRecorder } from "./denial_recorder.ts";
import type { ExecAnswerer } from "./exec_answerer.ts";
import type { Guard } from "./guard.ts";
import type { PosixProcess } from "./posix_process.ts";
import { whenSandboxEnds } from "./sandbox_end.ts";
import { SetUpComplaint } from "./set_up_complaint.ts";
import { SupervisedCalls, type SupervisedCallsOptions } from "./supervised_calls.ts";
import { ToldEnd } from "./told_end.ts";
import type { ProcessTree } from "./tree.ts";
import { WaitingSandbox } from "./waiting_sandbox.ts";

const EXEC_NUMBERS: readonly (number | undefined)[] = EXEC_CALLS.map((name) => syscallNumber(name, Deno.build.arch));

/** How a child comes to be, once it is its turn. */
export interface Starter {
  /** The highest of the descriptors that were opened for it, besides its input and output. */
  readonly highestFd?: number;
  spawn(stdio: ChildStdio): number | Promise<number>;
}

/** What is lent by the backend. */
export interface ConfinedSurroundings {
  readonly reactor: Reactor;
  readonly tree: ProcessTree;
  readonly guard: Guard | null;
  start(starter: Starter): Promise<PosixProcess>;
}

export class ConfinedStarts {
  readonly #supervised = new Set<SupervisedCalls>();
  /** What sandboxes held on the disk and have yet to give back. */
  readonly #releases = new Set<Promise<void>>();

  /** Resolves when the command runs inside its sandbox. */
  async start(surroundings: ConfinedSurroundings, confinement: Confinement): Promise<PosixProcess> {
    const launch = await ConfinedLaunch.prepare(confinement, surroundings.guard?.leftovers);
    return await this.#carryOut(surroundings, launch, confinement.execAnswerer ?? null);
  }

  /** For a plan without a command: resolves when the sandbox waits for one. */
  async standBy(surroundings: ConfinedSurroundings, confinement: Confinement): Promise<WaitingSandbox> {
    const launch = await ConfinedLaunch.prepare(confinement, surroundings.guard?.leftovers);
    const waiting = new WaitingSandbox(launch.policy);
    await waiting.begins(this.#carryOut(surroundings, launch, waiting));
    return waiting;
  }

  async #carryOut(
    { reactor, tree, start }: ConfinedSurroundings,
    launch: ConfinedLaunch,
    decider: ExecAnswerer | WaitingSandbox | null,
  ): Promise<PosixProcess> {
    let process: PosixProcess;
    try {
      process = await start(launch);
    } catch (error) {
      launch.abandon();
      throw error;
    }
    const recorder = new DenialRecorder();
    const late = decider instanceof WaitingSandbox ? decider : null;
    const execAnswerer = (): ExecAnswerer | null => decider instanceof WaitingSandbox ? decider.answerer : decider;
    let calls: SupervisedCalls | null = null;
    execAnswerer()?.begins(launch.policy);
    const { report, firstPid, teller, complaint: words } = await launch.outcome(reactor, (listener) => {
      const answererOf = (number: number) => EXEC_NUMBERS.includes(number) ? execAnswerer() : recorder;
      calls = this.#supervise(reactor, listener, { answererOf, ended: () => execAnswerer()?.ended?.() });
    }, late);
    if (report.type === "executed") {
      if (calls !== null && launch.policy?.network !== "enabled") process.reportDenials(recorder);
      if (launch.isWrapped) {
        const { pid: wrapperPid, ended: wrapperEnded } = process;
        if (firstPid !== null) process.wraps(firstPid);
        const wrapped = firstPid === null ? null : { wrapperPid, wrapperEnded, firstPid };
        const ended = wrapped === null ? null : whenSandboxEnds(reactor, wrapped);
        const released = this.#releaseAfter(ended ?? endOfTree(process, tree), launch);
        if (teller === undefined) process.holdEndUntil(released);
        // A sandbox that was made for a later command has put nothing on the disk.
        else process.endIsToldBy(new ToldEnd(reactor, teller.pipe, teller.pid), late === null ? released : null);
      } else this.#releaseAfter(process.ended, launch);
      return process;
    }
    (calls as SupervisedCalls | null)?.close();
    // The wrapper's complaint may be in the command's pipes. The command never started.
    const complaint = new SetUpComplaint();
    process.begin(complaint);
    process.killIfRunning();
    await this.#releaseAfter(endOfTree(process, tree), launch);
    process.dispose();
    throw new SandboxSetUpError(report, words + complaint.text);
  }

  /** Resolves when nothing is left on the disk. To be called when all children have ended. */
  async close(): Promise<void> {
    await Promise.all(this.#releases);
    for (const calls of this.#supervised) calls.close();
  }

  #supervise(
    reactor: Reactor,
    listener: number,
    { answererOf, ended }: { answererOf: SupervisedCallsOptions["answererOf"]; ended: () => void },
  ): SupervisedCalls {
    const onEnd = (): void => {
      this.#supervised.delete(calls);
      ended();
    };
    const calls: SupervisedCalls = new SupervisedCalls(reactor, listener, { answererOf, onEnd });
    this.#supervised.add(calls);
    return calls;
  }

  #releaseAfter(ended: Promise<void>, launch: ConfinedLaunch): Promise<void> {
    const release = ended.then(() => launch.release()).finally(() => this.#releases.delete(release));
    this.#releases.add(release);
    return release;
  }
}

/** Resolves when a child has ended, with everything below it. */
async function endOfTree(process: PosixProcess, tree: ProcessTree): Promise<void> {
  await process.ended;
  await tree.endAll({ roots: [process.root], graceMs: 0 });
}
