/**
 * The closed processes of one session that can still be read.
 *
 * Each is forgotten when a client has had enough time to read it; time counts only while there is a client. It is
 * forgotten earlier when the server-wide ledger has no room; then readers are told why. Closed processes are forgotten
 * in the order they closed.
 */

import type { Clock } from "../../clock.ts";
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
  readonly forgetAtMs: number;
}

export class ClosedProcesses {
  readonly #options: ClosedProcessesOptions;
  /** In the order they closed, and so in that of their times. */
  readonly #retained = new Map<ManagedProcess, Retained>();
  /** The time that counted until `#countingSinceMs`. */
  #countedBeforeMs = 0;
  /** Null: time does not count now. */
  #countingSinceMs: number | null = null;
  #cancelTimer: (() => void) | null = null;

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
    if (this.#cancelTimer === null) this.#schedule();
  }

  /** Removes it silently. */
  remove(process: ManagedProcess): void {
    const retained = this.#retained.get(process);
    if (retained === undefined) return;
    this.#retained.delete(process);
    this.#options.ledger.remove(retained.entry);
    this.#schedule();
  }

  /** There is a client that can read, or there is none any more. */
  countTime(isCounting: boolean): void {
    if (isCounting === (this.#countingSinceMs !== null)) return;
    this.#countedBeforeMs = this.#countedMs;
    this.#countingSinceMs = isCounting ? this.#options.clock.now() : null;
    this.#schedule();
  }

  get #countedMs(): number {
    const sinceMs = this.#countingSinceMs;
    return this.#countedBeforeMs + (sinceMs === null ? 0 : this.#options.clock.now() - sinceMs);
  }

  #schedule(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = null;
    const [oldest] = this.#retained.values();
    if (oldest === undefined || this.#countingSinceMs === null) return;
    const delayMs = Math.max(0, oldest.forgetAtMs - this.#countedMs);
    this.#cancelTimer = this.#options.clock.setTimer(delayMs, () => this.#forgetDue());
  }

  #forgetDue(): void {
    const nowMs = this.#countedMs;
    for (const [process, { entry, forgetAtMs }] of this.#retained) {
      if (forgetAtMs > nowMs) break;
      this.#retained.delete(process);
      this.#options.ledger.remove(entry);
      this.#options.onForgotten(process, null);
    }
    this.#schedule();
  }
}
