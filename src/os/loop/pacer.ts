/**
 * Long work in slices, so that nobody else notices it.
 *
 * Everything here shares one thread with every connection. So a long operation works for `SLICE_MS` and then rests. On
 * each turn of the event loop one of the resting operations goes on, in order.
 *
 * A turn must be one in which sockets are looked at. The runtime polls them only when it has nothing else to do, or
 * else at every 61st turn. So `setImmediate` and the like make a socket wait for 61 slices. A short sleep on another
 * thread leaves the loop idle for as long as it takes: some 60 microseconds.
 */

import { loadFromLibc } from "../libc.ts";

/**
 * Work done before the event loop gets its turn: others wait this long at most, and a turn costs a tenth of it. One
 * limit for all requests together, because one slice runs per turn.
 */
export const SLICE_MS = 0.5;

/** The kernel rounds it up to its timer slack. */
const REST_MICROSECONDS = 1;

const SYMBOLS = {
  usleep: { parameters: ["u32"], result: "i32", nonblocking: true },
} as const satisfies Deno.ForeignLibraryInterface;

let sleeps: Deno.DynamicLibrary<typeof SYMBOLS>["symbols"] | null | undefined;

/** Resolves on a later turn of the event loop, after sockets have been looked at. */
async function sleepOnPool(): Promise<void> {
  if (sleeps === undefined) {
    try {
      sleeps = loadFromLibc(SYMBOLS);
    } catch {
      sleeps = null; // FFI is not permitted here. Timers do the same, a millisecond later.
    }
  }
  if (sleeps === null) await new Promise((resolve) => setTimeout(resolve, 0));
  else await sleeps.usleep(REST_MICROSECONDS);
}

let shared: Pacer | undefined;

/** The program's one pacer: all kinds of long work take turns with each other. */
export function sharedPacer(): Pacer {
  return shared ??= new Pacer();
}

export class Pacer {
  readonly #waiting: (() => void)[] = [];
  #isTurning = false;

  /** The time of one operation. Each operation has its own. */
  slice(signal?: AbortSignal): Slice {
    return new Slice(this, signal);
  }

  /** Resolves on a later turn, which no other operation gets. */
  turn(): Promise<void> {
    const turn = new Promise<void>((resolve) => this.#waiting.push(resolve));
    if (!this.#isTurning) this.#run();
    return turn;
  }

  async #run(): Promise<void> {
    this.#isTurning = true;
    while (this.#waiting.length > 0) {
      await sleepOnPool();
      this.#waiting.shift()?.();
    }
    this.#isTurning = false;
  }
}

/** How much of its turn an operation has used. */
export class Slice {
  readonly #pacer: Pacer;
  readonly #signal: AbortSignal | undefined;
  #endsAt: number;
  #steps = 0;

  constructor(pacer: Pacer, signal: AbortSignal | undefined) {
    this.#pacer = pacer;
    this.#signal = signal;
    this.#endsAt = performance.now() + SLICE_MS;
  }

  get isOver(): boolean {
    return performance.now() >= this.#endsAt;
  }

  /** For steps of a microsecond or less, which are cheaper than looking at the clock: looks only at every 16th step. */
  get isOverAtLast(): boolean {
    return (++this.#steps & 15) === 0 && this.isOver;
  }

  /**
   * Waits for the next turn.
   *
   * @throws the signal's reason when nobody wants the result any more
   */
  async rest(): Promise<void> {
    await this.#pacer.turn();
    this.#signal?.throwIfAborted();
    this.#endsAt = performance.now() + SLICE_MS;
  }
}
