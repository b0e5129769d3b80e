/**
 * A proxy that breaks connections as networks do, at random points that a seed repeats: resets, half-closes, stalls
 * without a word, delays, and frames that are cut in their middle.
 *
 * Faults are not made by the clock but by the bytes that have passed, so that they fall anywhere in a conversation.
 */

import { AcceptingRelay, closeQuietly, writeAll } from "./accepting_relay.ts";
import type { Random } from "./random.ts";

/**
 * - `reset`: both sides get an end without a goodbye, at once.
 * - `cutFrame`: a part of what has just come is still passed on, then `reset`.
 * - `halfClose`: the client hears the end of the server's side; what it sends still goes on for a moment.
 * - `stall`: nothing is passed on any more in either direction, and nobody is told. A black hole.
 * - `delay`: everything stands still for a moment, and then goes on.
 */
export const FAULTS = ["reset", "cutFrame", "halfClose", "stall", "delay"] as const;
export type Fault = (typeof FAULTS)[number];

export interface FaultyProxyOptions {
  readonly port: number;
  readonly random: Random;
  readonly faults: readonly Fault[];
  /** A fault comes after at most so many bytes of a connection, counted in both directions. */
  readonly maxBytesBetween: number;
  /** Nothing happens to a connection before so many bytes. 1 unless given: also a handshake can be cut. */
  readonly minBytes?: number;
  /** How many there are in all; then the line is good. */
  readonly maxFaults: number;
}

const DELAY_MS = 30;
/** How long a stalled connection is kept before the proxy forgets it: longer than any heartbeat in the tests. */
const STALL_MS = 5_000;
const HALF_CLOSE_MS = 20;

interface Pair {
  readonly near: Deno.Conn;
  readonly far: Deno.Conn;
  bytesLeft: number;
  fault: Fault | null;
  isStalled: boolean;
  readonly released: PromiseWithResolvers<void>;
}

export class FaultyProxy extends AcceptingRelay {
  readonly #options: FaultyProxyOptions;
  readonly #pairs = new Set<Pair>();
  readonly #timers = new Set<ReturnType<typeof setTimeout>>();
  readonly #counts = new Map<Fault, number>();
  #isArmed = false;
  #isOver = false;

  constructor(options: FaultyProxyOptions) {
    super(options.port);
    this.#options = options;
  }

  get url(): string {
    return `ws://127.0.0.1:${this.port}`;
  }

  /** Faults so far. */
  get faults(): number {
    return [...this.#counts.values()].reduce((sum, count) => sum + count, 0);
  }

  /** For reports: `reset 12, stall 3`. */
  get summary(): string {
    return [...this.#counts].map(([fault, count]) => `${fault} ${count}`).join(", ");
  }

  /** Faults come from now on. Before, the line is good. */
  arm(): void {
    this.#isArmed = true;
  }

  /** Breaks every connection now. */
  breakAll(fault: Fault): void {
    for (const pair of this.#pairs) this.#break(pair, fault);
  }

  protected override endAll(): void {
    this.#isOver = true;
    for (const timer of this.#timers) clearTimeout(timer);
    for (const pair of [...this.#pairs]) this.#end(pair);
  }

  protected override async pass(near: Deno.Conn, far: Deno.Conn): Promise<void> {
    const { random, faults, maxBytesBetween, maxFaults, minBytes = 1 } = this.#options;
    const isFaulty = this.faults < maxFaults;
    const pair: Pair = {
      near,
      far,
      bytesLeft: isFaulty ? minBytes + random.int(maxBytesBetween) : Infinity,
      fault: isFaulty ? random.pick(faults) : null,
      isStalled: false,
      released: Promise.withResolvers<void>(),
    };
    this.#pairs.add(pair);
    if (this.#isOver) this.#end(pair);
    await Promise.all([this.#copy(pair, near, far), this.#copy(pair, far, near)]);
    this.#end(pair);
  }

  async #copy(pair: Pair, from: Deno.Conn, to: Deno.Conn): Promise<void> {
    const buffer = new Uint8Array(64 * 1024);
    try {
      for (;;) {
        const count = await from.read(buffer);
        if (count === null) break;
        if (pair.isStalled) await pair.released.promise;
        const fault = this.#due(pair, count);
        const passed = fault === "cutFrame" ? 1 + this.#options.random.int(count) : count;
        // What comes later on this side goes on: a stream never has a gap.
        const isHalfOpen = fault === "halfClose" && to === pair.far;
        if (fault === null || fault === "delay" || fault === "cutFrame" || isHalfOpen) {
          await writeAll(to, buffer.subarray(0, passed));
        }
        if (fault === "delay") await this.#delay(pair);
        else if (fault !== null) this.#break(pair, fault);
      }
      await to.closeWrite();
    } catch {
      // Broken, or one of the sides has gone: the other one goes, too.
      this.#end(pair);
    }
  }

  /** The fault that comes with these bytes, once. */
  #due(pair: Pair, count: number): Fault | null {
    if (!this.#isArmed) return null;
    pair.bytesLeft -= count;
    if (pair.bytesLeft > 0) return null;
    const { fault } = pair;
    pair.fault = null;
    pair.bytesLeft = Infinity;
    return fault;
  }

  async #delay(pair: Pair): Promise<void> {
    const { random, faults, maxBytesBetween, maxFaults } = this.#options;
    this.#count("delay");
    if (this.faults < maxFaults) {
      pair.fault = random.pick(faults);
      pair.bytesLeft = 1 + random.int(maxBytesBetween);
    }
    await new Promise<void>((resolve) => this.#later(DELAY_MS, resolve));
  }

  #break(pair: Pair, fault: Fault): void {
    this.#count(fault);
    if (fault === "stall") {
      pair.isStalled = true;
      this.#later(STALL_MS, () => this.#end(pair));
    } else if (fault === "halfClose") {
      pair.near.closeWrite().catch(() => {});
      this.#later(HALF_CLOSE_MS, () => this.#end(pair));
    } else if (fault !== "delay") this.#end(pair);
  }

  #end(pair: Pair): void {
    if (!this.#pairs.delete(pair)) return;
    pair.released.resolve();
    for (const conn of [pair.near, pair.far]) closeQuietly(conn);
  }

  #count(fault: Fault): void {
    this.#counts.set(fault, (this.#counts.get(fault) ?? 0) + 1);
  }

  #later(ms: number, action: () => void): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      action();
    }, ms);
    this.#timers.add(timer);
  }
}
