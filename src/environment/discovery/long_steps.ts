/**
 * Steps that nobody can cut into slices: a library parses a text in one piece, for up to 0.1 s.
 *
 * Were they to wait for their turns like slices do, there could be one of every request in the pacer's queue, and a slice
 * of somebody else would wait for all of them. So they have a queue of their own. The first of it alone asks for turns,
 * and goes on when everybody else had some: between two long steps others always get theirs.
 */

import type { Pace } from "./answer_room.ts";

/** Turns that others have between two long steps: a long message takes two, one after the other. */
export const TURNS_FOR_OTHERS = 3;

export class LongSteps {
  #last: Promise<void> = Promise.resolve();

  /** `isShort`: less than some milliseconds, so it needs no turn of its own while its request has time left. */
  async run<T>(pace: Pace | undefined, isShort: boolean, work: () => T | Promise<T>): Promise<T> {
    if (pace === undefined) return await work();
    if (isShort) {
      if (pace.isOver) await pace.rest();
      return await work();
    }
    const { promise, resolve } = Promise.withResolvers<void>();
    const before = this.#last;
    this.#last = promise;
    await before;
    try {
      for (let turns = 0; turns < TURNS_FOR_OTHERS; turns++) await pace.rest();
      return await work();
    } finally {
      resolve();
    }
  }
}

/** Those of the whole program: all of it shares one thread. */
export const longSteps = new LongSteps();
