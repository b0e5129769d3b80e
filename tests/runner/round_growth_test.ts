import assert from "node:assert/strict";
import { RoundGrowth } from "../support/round_growth.ts";

/** Returns how many rounds were run. */
async function settle(seenMb: (round: number) => number, rounds = 12, maxMbPerRound = 3): Promise<number> {
  let count = 0;
  const growth = new RoundGrowth({ pid: 0 }, () => seenMb(count - 1));
  await growth.settle({ rounds, maxMbPerRound }, () => count++);
  return count;
}

Deno.test("RoundGrowth finds a steady leak under the collector's ups and downs", async () => {
  let rounds = 0;
  await assert.rejects(
    settle((round) => 100 + 5 * (rounds = round) + (round % 3) * 4),
    /memory grew by [456]\.\d MB per round: 100 109 /,
  );
  assert.equal(rounds + 1, 48, "it was not believed at once");
});

Deno.test("RoundGrowth takes neither a warm-up nor one odd round for a leak", async () => {
  const resting = [60, 110, 150, 152, 149, 210, 151, 150, 148, 152, 150, 151];
  assert.equal(await settle((round) => resting[round]!, 12, 1), 12);
});

Deno.test("RoundGrowth waits for a program that takes long to grow to its working size", async () => {
  const rounds = await settle((round) => Math.min(100 + 4 * round, 180));
  assert.ok(rounds > 12 && rounds < 48, `${rounds} rounds`);
});

Deno.test("RoundGrowth judges by at least two rounds", async () => {
  await assert.rejects(settle((round) => 100 + 5 * round, 1), /memory grew by 5\.0 MB per round: 100 105 110 115/);
});
