/** The same work, done by several workers at once. */

import { BLOCKS_UNDER_WAY, COPY_BLOCK_BYTES } from "./copy_run.ts";

/** Starts this many workers. Waits for all of them even if one fails, so that none uses something that was closed. */
export async function inParallel(worker: () => Promise<void>, count: number): Promise<void> {
  const outcomes = await Promise.allSettled(Array.from({ length: count }, worker));
  for (const outcome of outcomes) if (outcome.status === "rejected") throw outcome.reason;
}

/**
 * The blocks of a file, until one is shorter than the others or fails. `move` copies the one at an offset and resolves with
 * its length, which is 0 behind the end.
 */
export async function allBlocks(move: (offset: number) => Promise<number>): Promise<void> {
  let next = 0;
  let isAtEnd = false;
  const worker = async () => {
    while (!isAtEnd) {
      const offset = next;
      next += COPY_BLOCK_BYTES;
      let length = 0;
      try {
        length = await move(offset);
      } finally {
        if (length < COPY_BLOCK_BYTES) isAtEnd = true;
      }
    }
  };
  await inParallel(worker, BLOCKS_UNDER_WAY);
}
