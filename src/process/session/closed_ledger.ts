/**
 * What the closed processes of all sessions hold in memory, and the bound on it.
 *
 * Beyond the bound the process that closed first is evicted, of any session. The one that closed last is never evicted,
 * whatever it holds: its client is just about to look. How long a process is otherwise remembered is up to its session.
 */

import { type Clock, systemClock } from "../../clock.ts";
import type { Logger } from "../../log.ts";
import { DEFAULT_MAX_CLOSED_BYTES, DEFAULT_MAX_CLOSED_PROCESSES, EVICTION_LOG_INTERVAL_MS } from "../limits.ts";

export interface ClosedLedgerOptions {
  readonly maxProcesses?: number;
  readonly maxBytes?: number;
  readonly log?: Logger;
  readonly clock?: Clock;
}

/** One closed process. */
export interface LedgerEntry {
  readonly bytes: number;
  /** It must be forgotten now. It has already left the ledger. */
  evict(reason: string): void;
}

export class ClosedLedger {
  readonly #maxProcesses: number;
  readonly #maxBytes: number;
  readonly #log: Logger | null;
  readonly #clock: Clock;
  /** In the order they closed. */
  readonly #entries = new Set<LedgerEntry>();
  #bytes = 0;
  /** Evictions since the last line, and the bound behind the last of them. */
  readonly #untold = { count: 0, bound: "" };
  /** For a while after a line nothing is told. */
  #cancelQuiet: (() => void) | null = null;

  constructor(options: ClosedLedgerOptions = {}) {
    this.#maxProcesses = options.maxProcesses ?? DEFAULT_MAX_CLOSED_PROCESSES;
    this.#maxBytes = options.maxBytes ?? DEFAULT_MAX_CLOSED_BYTES;
    this.#log = options.log ?? null;
    this.#clock = options.clock ?? systemClock;
  }

  get size(): number {
    return this.#entries.size;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** A process has closed. Makes room for it. */
  add(entry: LedgerEntry): void {
    this.#entries.add(entry);
    this.#bytes += entry.bytes;
    for (const oldest of this.#entries) {
      const reason = this.#excess();
      if (reason === null || oldest === entry) return;
      this.remove(oldest);
      oldest.evict(`it had closed and was evicted, because this server retains at most ${reason}`);
      this.#noteEviction(reason);
    }
  }

  /** It is forgotten for another reason. */
  remove(entry: LedgerEntry): void {
    if (this.#entries.delete(entry)) this.#bytes -= entry.bytes;
  }

  /** No more is evicted: says what has not been said yet. */
  close(): void {
    this.#cancelQuiet?.();
    this.#tell();
    this.#cancelQuiet?.();
    this.#cancelQuiet = null;
  }

  #excess(): string | null {
    if (this.#entries.size > this.#maxProcesses) return `${this.#maxProcesses} closed processes`;
    if (this.#bytes > this.#maxBytes) return `${this.#maxBytes} bytes of closed processes`;
    return null;
  }

  /** Told at once, and then at most once in a while: a server that runs many commands evicts as many. */
  #noteEviction(bound: string): void {
    if (this.#log === null) return;
    this.#untold.count++;
    this.#untold.bound = bound;
    if (this.#cancelQuiet === null) this.#tell();
  }

  #tell(): void {
    this.#cancelQuiet = null;
    if (this.#untold.count === 0) return;
    this.#log?.warn("closed processes evicted early", {
      evicted: this.#untold.count,
      bound: this.#untold.bound,
      retained: this.#entries.size,
      bytes: this.#bytes,
    });
    this.#untold.count = 0;
    this.#cancelQuiet = this.#clock.setTimer(EVICTION_LOG_INTERVAL_MS, () => this.#tell());
  }
}
