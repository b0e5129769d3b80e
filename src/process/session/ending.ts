/**
 * How a running process is ended, and why it ended.
 *
 * The first reason counts, so racing causes have one answer. Force is SIGKILL to the group at once; grace is SIGTERM,
 * then SIGKILL. Soon after that the output of a killed process is no longer read, since a descendant that left the
 * group may hold its pipes open forever.
 */

import type { Clock } from "../../clock.ts";
import type { ExitStatus, SpawnedProcess } from "../backend.ts";
import { DRAIN_AFTER_KILL_MS } from "../limits.ts";
import type { EndReason, ProcessEnd } from "./process_views.ts";
import { SIGKILL, signalText, SIGTERM } from "../signals.ts";

export class Ending {
  readonly #clock: Clock;
  readonly #child: SpawnedProcess;
  #reason: EndReason | null = null;
  /** The kill comes even if the direct child has exited by then: what it left behind has had its time too. */
  #killsLeftovers = false;
  #killAtMs = Infinity;
  #cancelKill: (() => void) | null = null;
  #cancelDrain: (() => void) | null = null;

  constructor(clock: Clock, child: SpawnedProcess) {
    this.#clock = clock;
    this.#child = child;
  }

  noteReason(reason: EndReason): void {
    this.#reason ??= reason;
  }

  /** SIGTERM, and SIGKILL after the grace if the child has not exited. Of several graces the earliest end counts. */
  terminate(reason: EndReason, graceMs: number): void {
    this.#reason ??= reason;
    if (reason === "timeout") this.#killsLeftovers = true;
    this.#child.signalGroup(SIGTERM);
    const killAtMs = this.#clock.now() + graceMs;
    if (killAtMs >= this.#killAtMs) return;
    this.#killAtMs = killAtMs;
    this.#cancelKill?.();
    this.#cancelKill = this.#clock.setTimer(graceMs, () => this.kill(reason));
  }

  /** SIGKILL to whatever is left of the group, then no more reading. */
  kill(reason: EndReason): void {
    this.#reason ??= reason;
    this.#cancelKill?.();
    this.#child.signalGroup(SIGKILL);
    this.#cancelDrain ??= this.#clock.setTimer(DRAIN_AFTER_KILL_MS, () => this.#child.stopReading());
  }

  exited(): void {
    if (!this.#killsLeftovers) this.#cancelKill?.();
  }

  /** Nothing is left to end. */
  closed(): void {
    this.#cancelKill?.();
    this.#cancelDrain?.();
  }

  describe(status: ExitStatus): ProcessEnd {
    const signal = status.type === "signaled" ? signalText(status.signal) : null;
    return { reason: this.#reason ?? (signal === null ? "exit" : "signal"), signal };
  }
}
