/**
 * The closed processes of one session that can still be read.
 *
 * Each is forgotten when a client has had enough time to read it. Time counts only while there is a client, and only as
 * far as that has shown that it is there: who has vanished without a word looks attached for minutes. So when the time of
 * a process is due, the client is asked, and the process goes with the next sign of life. It is forgotten earlier when
 * the server-wide ledger has no room; then readers are told why. Closed processes are forgotten in the order they closed.
 */

import type { Clock } from "../../clock.ts";
import type { Audience } from "./audience.ts";
import type { ClosedLedger, LedgerEntry } from "./closed_ledger.ts";
import type { ManagedProcess } from "./managed_process.ts";

export interface ClosedProcessesOptions {
  readonly clock: Clock;
  readonly retentionMs: number;
  readonly ledger: ClosedLedger;
  /** With the reason, if it was evicted early. */
  onForgotten(process: ManagedProcess, eviction: string | null): void;
}

interface Retained {
  readonly entry: LedgerEntry;
  /** By `#countedMs`. */
  forgetAtMs: number;
}

export class ClosedProcesses {
  readonly #options: ClosedProcessesOptions;
  /** In the order they closed, and so in that of their times. */
  readonly #retained = new Map<ManagedProcess, Retained>();
  /** The time that counted until `#countingSinceMs`. */
  #countedBeforeMs = 0;
  #countingSinceMs = 0;
  /** Null: time does not count now. */
  #audience: Audience | null = null;
  /** Of the timer, or of the question to the client. */
  #cancelWait: (() => void) | null = null;

  constructor(options: ClosedProcessesOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#retained.size;
  }

  add(process: ManagedProcess): void {
    const { ledger, retentionMs } = this.#options;
    const entry: LedgerEntry = {
      bytes: process.allocatedBytes,
      evict: (reason) => {
        this.#retained.delete(process);
        this.#schedule();
        this.#options.onForgotten(process, reason);
      },
    };
    this.#retained.set(process, { entry, forgetAtMs: this.#countedMs + retentionMs });
    ledger.add(entry);
    if (this.#cancelWait === null) this.#schedule();
  }

  /** Removes it silently. */
  remove(process: ManagedProcess): void {
    const retained = this.#retained.get(process);
    if (retained === undefined) return;
    this.#retained.delete(process);
    this.#options.ledger.remove(retained.entry);
    this.#schedule();
  }

  /** Time counts for these from now on. Null: there is nobody. */
  countTimeFor(audience: Audience | null): void {
    // What has come after the last sign of life of those who were there does not count, nor for what closed in it.
    const { retentionMs, clock } = this.#options;
    const certainMs = this.#certainMs;
    for (const retained of this.#retained.values()) {
      retained.forgetAtMs = Math.min(retained.forgetAtMs, certainMs + retentionMs);
    }
    this.#countedBeforeMs = certainMs;
    this.#countingSinceMs = clock.now();
    this.#audience = audience;
    this.#schedule();
  }

  /** The time that has counted, if the client is still there. */
  get #countedMs(): number {
    const { clock } = this.#options;
    return this.#countedBeforeMs + (this.#audience === null ? 0 : clock.now() - this.#countingSinceMs);
  }

  /** The time that has counted for certain. */
  get #certainMs(): number {
    if (this.#audience === null) return this.#countedBeforeMs;
    const untilMs = Math.min(this.#options.clock.now(), this.#audience.heardAtMs);
    return this.#countedBeforeMs + Math.max(0, untilMs - this.#countingSinceMs);
  }

  #schedule(): void {
    this.#cancelWait?.();
    this.#cancelWait = null;
    const [oldest] = this.#retained.values();
    if (oldest === undefined || this.#audience === null) return;
    const delayMs = oldest.forgetAtMs - this.#countedMs;
    this.#cancelWait = delayMs <= 0 && this.#certainMs < oldest.forgetAtMs
      ? this.#audience.ask(() => this.#forgetDue())
      : this.#options.clock.setTimer(Math.max(0, delayMs), () => this.#forgetDue());
  }

  #forgetDue(): void {
    const certainMs = this.#certainMs;
    for (const [process, { entry, forgetAtMs }] of this.#retained) {
      if (forgetAtMs > certainMs) break;
      this.#retained.delete(process);
      this.#options.ledger.remove(entry);
      this.#options.onForgotten(process, null);
    }
    this.#schedule();
  }
}
