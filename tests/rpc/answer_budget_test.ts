import assert from "node:assert/strict";
import { AnswerBudget, SharedAnswers } from "../../src/rpc/answer_budget.ts";
import { forSeeds } from "../support/seeds.ts";

const UNSHARED = () => new SharedAnswers(Infinity);

Deno.test("AnswerBudget admits answers that fit, and one that is too long when it is the only one", () => {
  const budget = new AnswerBudget({ limit: 100, floor: 10, shared: UNSHARED() });
  assert.equal(budget.tryTake(60), true);
  assert.equal(budget.tryTake(41), false);
  assert.equal(budget.tryTake(40), true);
  budget.give(100);
  assert.equal(budget.tryTake(1000), true, "alone");
  assert.equal(budget.tryTake(1), false);
  budget.give(1000);
  assert.equal(budget.used, 0);
});

Deno.test("AnswerBudget serves requests in order, and none overtakes another", async () => {
  const budget = new AnswerBudget({ limit: 100, floor: 10, shared: UNSHARED() });
  const admitted: string[] = [];
  assert.equal(budget.take(90), undefined);
  const large = budget.take(50) as Promise<void>;
  budget.wait(10, () => admitted.push("small"));
  assert.equal(budget.tryTake(5), false, "though it would fit");
  budget.exchange(90, 60);
  assert.deepEqual([budget.used, admitted.length], [60, 0], "50 do not fit beside 60");
  budget.exchange(60, 45);
  await large;
  assert.deepEqual([budget.used, admitted.length], [95, 0], "10 do not fit beside 95");
  budget.give(45);
  assert.deepEqual([budget.used, admitted.length], [60, 1]);
  assert.equal(budget.tryTake(40), true, "nobody waits any more");
});

Deno.test("AnswerBudget leaves each connection its minimum, or one answer, whatever others hold", () => {
  const shared = new SharedAnswers(100);
  const stalled = new AnswerBudget({ limit: 100, floor: 10, shared });
  const other = new AnswerBudget({ limit: 100, floor: 10, shared });
  assert.equal(stalled.tryTake(100), true);
  assert.equal(other.tryTake(4), true);
  assert.equal(other.tryTake(6), true);
  assert.equal(other.tryTake(1), false);
  other.give(10);
  assert.equal(other.tryTake(50), true, "one at a time");
  assert.equal(other.tryTake(1), false);
  stalled.close();
  assert.equal(shared.used, 50);
  assert.equal(other.tryTake(1), true, "what has ended holds nothing");
});

Deno.test("AnswerBudget refuses those in line when it is closed, and forgets those that have left", async () => {
  const budget = new AnswerBudget({ limit: 100, floor: 10, shared: UNSHARED() });
  budget.take(100);
  const gone = new AbortController();
  const first = budget.take(80, gone.signal) as Promise<void>;
  const second = budget.take(20) as Promise<void>;
  gone.abort(new Error("timed out"));
  await assert.rejects(first, /timed out/);
  budget.give(20);
  await second;
  const third = budget.take(50) as Promise<void>;
  budget.wait(1, () => assert.fail("closed"));
  budget.close();
  await assert.rejects(third, /connection has ended/);
  assert.equal(budget.used, 0);
});

Deno.test("AnswerBudget never blocks forever and never exceeds its limit, whatever is taken and returned", async () => {
  await forSeeds(200, async (random) => {
    const shared = new SharedAnswers(150);
    const budgets = [0, 1, 2].map(() => new AnswerBudget({ limit: 100, floor: 10, shared }));
    const held: { budget: AnswerBudget; bytes: number }[] = [];
    let open = 0;
    for (let step = 0; step < 100 || open > 0; step++) {
      const budget = random.pick(budgets);
      if (step < 100 && random.chance(0.6)) {
        const bytes = 1 + random.int(random.chance(0.1) ? 300 : 60);
        open++;
        Promise.resolve(budget.take(bytes)).then(() => held.push({ budget, bytes }));
        await Promise.resolve();
        await Promise.resolve();
      } else {
        await Promise.resolve();
        assert.ok(open === 0 || held.length > 0, "all wait and nobody holds anything");
        const [one] = held.splice(random.int(held.length), 1);
        if (one !== undefined) {
          one.budget.give(one.bytes);
          open--;
        }
        await Promise.resolve();
        await Promise.resolve();
      }
      for (const each of budgets) {
        const mine = held.filter((one) => one.budget === each);
        assert.ok(each.used <= 100 || mine.length <= 1, `${each.used} of 100`);
      }
    }
    assert.equal(shared.used, 0);
  });
});
