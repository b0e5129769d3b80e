import assert from "node:assert/strict";
import { StartQueue } from "../../../src/process/posix/start_queue.ts";

/** Callers that enter in order and note it; each leaves when told to. */
class Callers {
  readonly queue = new StartQueue();
  readonly entered: number[] = [];
  readonly #leave = new Map<number, () => void>();
  #waiting = 0;

  add(count: number): void {
    for (let index = 0; index < count; index++) {
      const name = this.entered.length + this.#waiting + 1;
      this.#waiting++;
      this.queue.enter().then((leave) => {
        this.#waiting--;
        this.entered.push(name);
        this.#leave.set(name, leave);
      });
    }
  }

  async leave(name: number): Promise<void> {
    this.#leave.get(name)!();
    this.#leave.delete(name);
    await turn();
  }

  get inside(): number[] {
    return [...this.#leave.keys()];
  }
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

Deno.test("StartQueue lets a few callers in one by one, in the order they came", async () => {
  const callers = new Callers();
  callers.add(8);
  await turn();
  for (let name = 1; name <= 8; name++) {
    assert.deepEqual(callers.inside, [name]);
    await callers.leave(name);
  }
  assert.deepEqual(callers.inside, []);
});

Deno.test("StartQueue lets four in at a time while many wait, and one when few are left", async () => {
  const callers = new Callers();
  callers.add(30);
  await turn();
  assert.deepEqual(callers.inside, [1, 2, 3, 4]);
  await callers.leave(2);
  assert.deepEqual(callers.inside, [1, 3, 4, 5]);
  let largestTail = 0;
  for (let left = 1; left < 30; left++) {
    await callers.leave(callers.inside[0]!);
    if (callers.entered.length > 26) largestTail = Math.max(largestTail, callers.inside.length);
  }
  assert.ok(largestTail <= 1, `${largestTail} at a time at the end`);
  assert.deepEqual(callers.entered, Array.from({ length: 30 }, (_, index) => index + 1));
});

Deno.test("StartQueue.empty() waits for those inside and those who wait", async () => {
  const callers = new Callers();
  await callers.queue.empty();
  callers.add(2);
  await turn();
  let isEmpty = false;
  const empty = callers.queue.empty().then(() => isEmpty = true);
  await callers.leave(1);
  assert.equal(isEmpty, false);
  await callers.leave(2);
  await empty;
});
