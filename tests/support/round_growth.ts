/**
 * How much resident memory each round of the same work leaves behind.
 *
 * A single look says little: the collector lets garbage pile up and gives memory back when it likes. But a leak adds
 * something with every round. So the growth per round is the median of the slopes between all pairs of the last rounds,
 * which a few odd rounds cannot move.
 *
 * A program also grows to its working size, and nobody knows beforehand after how many rounds it has it. So rounds that
 * still grow are followed by more of them: growth to a working size ends, a leak does not.
 */

import assert from "node:assert/strict";
import { residentMb } from "./proc.ts";

/** Of the rounds asked for, this part at the end counts. */
const COUNTED = 1 / 2;
/** So many times the rounds asked for are run before growth is called a leak. */
const PATIENCE = 4;

/**
 * For the environment of a server whose growth is looked at: every collection is a whole one, so that little garbage is
 * taken for a leak. The runtime's own variable.
 */
export const WHOLE_COLLECTIONS = { DENO_V8_FLAGS: "--gc-global" };

export interface RoundGrowthOptions {
  /** How many rounds there are at least. */
  readonly rounds: number;
  /** Should be what a small part of a round's own memory is, so that a leak of that part shows. */
  readonly maxMbPerRound: number;
}

export class RoundGrowth {
  readonly #read: () => number;
  readonly #seenMb: number[] = [];

  constructor(server: { readonly pid: number }, read: () => number = () => residentMb(server.pid)) {
    this.#read = read;
  }

  /** Runs rounds until memory has stopped growing. Fails if it never does. */
  async settle({ rounds, maxMbPerRound }: RoundGrowthOptions, runRound: (round: number) => unknown): Promise<void> {
    const counted = Math.max(2, Math.ceil(rounds * COUNTED));
    for (let round = 0; round < rounds * PATIENCE; round++) {
      if (round >= Math.max(rounds, counted) && perRound(this.#seenMb.slice(-counted)) < maxMbPerRound) break;
      await runRound(round);
      this.#seenMb.push(this.#read());
    }
    const perRoundMb = perRound(this.#seenMb.slice(-counted));
    const seen = this.#seenMb.map((mb) => mb.toFixed(0)).join(" ");
    if (Deno.env.get("SOAK_FIGURES")) console.log(`FIGURE ${perRoundMb.toFixed(2)} MB per round: ${seen}`);
    assert.ok(perRoundMb < maxMbPerRound, `memory grew by ${perRoundMb.toFixed(1)} MB per round: ${seen}`);
  }
}

function perRound(seenMb: readonly number[]): number {
  const slopes = seenMb.flatMap((mb, at) => seenMb.slice(at + 1).map((later, index) => (later - mb) / (index + 1)));
  assert.ok(slopes.length > 0, "too few rounds to see growth");
  return slopes.sort((a, b) => a - b)[Math.floor(slopes.length / 2)]!;
}
