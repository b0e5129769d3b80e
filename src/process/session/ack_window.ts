/**
 * How much unacknowledged output one process may have, and when it has to wait.
 *
 * With a client, the window is what was reserved at the start. It grows for a client who keeps pace and is held up only by
 * the time that its acknowledgements travel. A client who does not read never gets more.
 * While the client is away the window grows, as far as the setting and the server's reserve allow. It shrinks again as the
 * output is acknowledged. Counts memory: the bytes of a chunk and what it costs besides, so that a process that writes
 * single bytes waits sooner. The journal knows which chunks are acknowledged.
 */

import type { Clock } from "../../clock.ts";
import { CALM_MS, MAX_GROWN_WINDOWS, MAX_LAST_WORDS_BYTES, PROMPT_ACK_MS } from "../limits.ts";
import type { OutputReserve } from "./output_reserve.ts";

export interface AckWindowOptions {
  readonly clock: Clock;
  readonly reserve: OutputReserve;
  /** Taken from the reserve already. */
  readonly windowBytes: number;
  /** The most it grows to while the client is away. */
  readonly detachedBytes: number;
  readonly isAway: boolean;
  /** There is room again that did not come from an acknowledgement. */
  onRoom(): void;
}

export class AckWindow {
  readonly windowBytes: number;
  readonly #clock: Clock;
  readonly #reserve: OutputReserve;
  readonly #detachedBytes: number;
  readonly #maxGrownBytes: number;
  readonly #onReserve: () => void;
  /** What it has of the reserve. */
  #grantedBytes: number;
  /** How much of it may be filled while the client is there. */
  #attachedBytes: number;
  #unacknowledgedBytes = 0;
  #isAway: boolean;
  /** Since when the process waits for a client who is there; null: it does not. */
  #fullAtMs: number | null = null;
  /** When it last did. */
  #lastFullAtMs = -Infinity;
  #lastWordsBytes = 0;

  constructor(options: AckWindowOptions) {
    this.windowBytes = this.#grantedBytes = this.#attachedBytes = options.windowBytes;
    this.#clock = options.clock;
    this.#reserve = options.reserve;
    this.#detachedBytes = options.detachedBytes;
    this.#maxGrownBytes = Math.max(
      this.windowBytes,
      Math.min(this.windowBytes * MAX_GROWN_WINDOWS, options.detachedBytes),
    );
    this.#isAway = options.isAway;
    this.#onReserve = () => {
      if (!this.isFull()) options.onRoom();
    };
  }

  get unacknowledgedBytes(): number {
    return this.#unacknowledgedBytes;
  }

  add(bytes: number): void {
    this.#unacknowledgedBytes += bytes;
  }

  acknowledge(bytes: number): void {
    this.#unacknowledgedBytes -= bytes;
    if (bytes > 0) this.#adapt();
    this.#shrinkTo(Math.max(this.#attachedBytes, this.#unacknowledgedBytes));
  }

  /** Whether the process has to wait now. Grows first where that helps. */
  isFull(): boolean {
    const isFull = this.#unacknowledgedBytes >= this.#limitBytes() + this.#lastWordsBytes;
    if (isFull && !this.#isAway) this.#fullAtMs ??= this.#clock.now();
    if (isFull && this.#isAway && this.#grantedBytes < this.#detachedBytes) this.#reserve.wait(this.#onReserve);
    else this.#reserve.stopWaiting(this.#onReserve);
    return isFull;
  }

  /** The client has gone, or is back. */
  setAway(isAway: boolean): void {
    this.#isAway = isAway;
    // How long it was away says nothing about how it reads.
    this.#fullAtMs = null;
  }

  /** The process was killed: what is in its pipes still has room, whatever else waits. */
  admitLastWords(): void {
    this.#lastWordsBytes = MAX_LAST_WORDS_BYTES;
  }

  /** Nothing more will come: holds as much of the reserve as the process holds in memory. */
  settleFor(bytes: number): void {
    this.#reserve.stopWaiting(this.#onReserve);
    const granted = this.#grantedBytes;
    this.#grantedBytes = bytes;
    this.#reserve.exchange(granted, bytes);
  }

  /** It is not needed any more. */
  release(): void {
    this.settleFor(0);
  }

  #limitBytes(): number {
    if (!this.#isAway) return this.#attachedBytes;
    while (this.#grantedBytes <= this.#unacknowledgedBytes && this.#grantedBytes < this.#detachedBytes) {
      const step = Math.min(this.windowBytes, this.#detachedBytes - this.#grantedBytes);
      if (!this.#reserve.tryLend(step)) break;
      this.#grantedBytes += step;
    }
    return this.#grantedBytes;
  }

  /** Something was acknowledged: more for a client who keeps pace, and back to what was reserved when that is plenty. */
  #adapt(): void {
    const nowMs = this.#clock.now();
    const fullAtMs = this.#fullAtMs;
    this.#fullAtMs = null;
    if (fullAtMs !== null) {
      this.#lastFullAtMs = nowMs;
      if (nowMs - fullAtMs <= PROMPT_ACK_MS) this.#growForReader();
    } else if (this.#unacknowledgedBytes === 0 && nowMs - this.#lastFullAtMs >= CALM_MS) {
      this.#attachedBytes = this.windowBytes;
    }
  }

  #growForReader(): void {
    const wanted = Math.min(this.#attachedBytes * 2, this.#maxGrownBytes);
    // What it got while the client was away may still be there.
    const missing = wanted - this.#grantedBytes;
    if (missing > 0) {
      if (!this.#reserve.tryLend(missing)) return;
      this.#grantedBytes = wanted;
    }
    this.#attachedBytes = wanted;
  }

  #shrinkTo(bytes: number): void {
    if (bytes >= this.#grantedBytes) return;
    const granted = this.#grantedBytes;
    this.#grantedBytes = bytes;
    this.#reserve.exchange(granted, bytes);
  }
}
