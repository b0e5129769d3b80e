import assert from "node:assert/strict";
import { notFound } from "../../src/errors.ts";
import { MAX_HANDLES } from "../../src/fs/limits.ts";
import { createLogger, silentLogger } from "../../src/log.ts";
import { AnswerBudget, SharedAnswers } from "../../src/rpc/answer_budget.ts";
import type { RequestId } from "../../src/rpc/envelope.ts";
import { Call, type CallSurroundings } from "../../src/server/call.ts";

/** The calls of one connection whose log follows requests. */
class Calls {
  readonly handlePaths = new Map<string, string>();
  readonly #log = createLogger({ level: "debug", format: "json", write: () => {} });

  make(method: string, params: unknown): Call<unknown> {
    const surroundings = { handlePaths: this.handlePaths } as unknown as CallSurroundings<unknown>;
    return new Call({ id: "1" as RequestId, method, params }, this.#log, surroundings);
  }

  opened(handleId: string): void {
    this.make("fs/open", { handleId, path: `file:///${handleId}` }).answered();
  }
}

Deno.test("the path of a handle is forgotten with its close, however that ends", () => {
  const ends: ((close: Call<unknown>) => void)[] = [
    (close) => close.answered(),
    (close) => close.failed(notFound("it has gone")),
    (close) => close.failed(new Error("a fault of ours")),
    (close) => close.abandoned(),
  ];
  for (const end of ends) {
    const calls = new Calls();
    calls.opened("h");
    assert.deepEqual([...calls.handlePaths], [["h", "file:///h"]]);
    end(calls.make("fs/close", { handleId: "h" }));
    assert.deepEqual([...calls.handlePaths], [], String(end));
  }
});

Deno.test("a handle that is opened again is the youngest: others are forgotten before it", () => {
  const calls = new Calls();
  for (let i = 0; i < MAX_HANDLES; i++) calls.opened(`h${i}`);
  calls.opened("h0");
  calls.opened("new");
  assert.equal(calls.handlePaths.size, MAX_HANDLES);
  assert.deepEqual([calls.handlePaths.has("h0"), calls.handlePaths.has("h1")], [true, false]);
});

Deno.test("bytes that a call still waits for when its answer is made are returned as soon as it gets them", async () => {
  const answers = new AnswerBudget({ limit: 100, floor: 0, shared: new SharedAnswers(1000) });
  const request = { id: "1" as RequestId, method: "capabilityRoots/discoverV1", params: {} };
  const surroundings = { answers } as unknown as CallSurroundings<unknown>;
  const call = new Call(request, silentLogger(), surroundings);
  answers.tryTake(90);
  const room = call.promise(50);
  assert.equal(call.takePromise(), 0, "one root has waited for room, and another one was refused");
  answers.give(90);
  await room;
  assert.equal(answers.used, 0);
});
