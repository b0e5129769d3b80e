/**
 * Holds a caller while a program runs in its place, so that a signal that would end it waits for it instead.
 *
 * The kernel ends a process at once by a signal that it does not handle, before anybody could pass the signal on. It
 * does not if the process's main thread is traced: then the signal waits for as long as the call does, and
 * `passed_signals.ts` finds it. SIGKILL still ends the process. If this program ends, so do those it holds.
 *
 * Where a caller cannot be held, because somebody else traces it or it is not its process's main thread, nothing else
 * is different: a signal that it does not handle ends it, and so the program.
 */

import { releaseIfDead, seize } from "../../os/children/tracing.ts";
import { EACCES } from "../../os/errno.ts";
import type { Reactor } from "../../os/loop/reactor.ts";
import type { SupervisedCall } from "../posix/supervised_calls.ts";
import { endCaller, endSeized, releaseSeized, whenCallerGone } from "./caller.ts";

export class HeldCaller {
  readonly #call: SupervisedCall;
  readonly #reactor: Reactor;
  #isHeld = false;
  #stopWatch = (): void => {};

  constructor(call: SupervisedCall, reactor: Reactor) {
    this.#call = call;
    this.#reactor = reactor;
  }

  /** To be called just before the program starts, and once. Whether the call still waits is to be asked afterwards. */
  hold(callerPid: number): void {
    const { tid } = this.#call;
    // The kernel looks whether the main thread is traced, whichever thread it chooses.
    this.#isHeld = tid === callerPid && seize(tid, { endsWithUs: true });
    if (!this.#isHeld) return;
    // Its parent, and the first process of its namespace, wait until its tracer has taken note.
    this.#stopWatch = whenCallerGone(this.#reactor, tid, () => releaseIfDead(tid));
  }

  /** Ends the caller with this code, whichever signals wait for it. */
  async end(exitCode: number): Promise<void> {
    this.#stopWatch();
    await (this.#isHeld ? endSeized : endCaller)(this.#call, exitCode);
  }

  /** Its call fails, if it is there at all. */
  async release(): Promise<void> {
    this.#stopWatch();
    if (this.#isHeld) await releaseSeized(this.#call);
    else this.#call.fail(EACCES);
  }
}
