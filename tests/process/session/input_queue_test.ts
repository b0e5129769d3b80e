import assert from "node:assert/strict";
import { InputQueue, type InputStatus } from "../../../src/process/session/input_queue.ts";
import { MAX_QUEUED_INPUT_BYTES, MAX_QUEUED_INPUT_CHUNKS } from "../../../src/process/limits.ts";
import { FakeChild, settled } from "../../support/fake_backend.ts";
import { forSeeds } from "../../support/seeds.ts";

const encode = (text: string) => new TextEncoder().encode(text);
const NO_ID = { writeId: null };

function childWithInput(): FakeChild {
  const io = { type: "pipe", stdin: "open" } as const;
  return new FakeChild(1, { argv: ["x"], arg0: null, cwd: "/", env: {}, io });
}

function setUp(): { child: FakeChild; input: InputQueue; consumedText: () => string } {
  const child = childWithInput();
  const consumedText = () => child.consumedText;
  return { child, input: new InputQueue(child), consumedText };
}

/** A queue that holds as much as it may. */
function setUpFull() {
  const parts = setUp();
  assert.equal(parts.input.write(new Uint8Array(MAX_QUEUED_INPUT_BYTES), { writeId: "fill" }), "accepted");
  return parts;
}

Deno.test("InputQueue.write() passes bytes on in order", () => {
  const { child, input, consumedText } = setUp();
  for (const text of ["a", "bc", "", "d"]) assert.equal(input.write(encode(text), NO_ID), "accepted");
  child.consume();
  assert.equal(consumedText(), "abcd");
});

Deno.test("InputQueue.write() accepts an id twice and writes it once", () => {
  const { child, input, consumedText } = setUp();
  for (const [text, writeId] of [["a", "1"], ["a", "1"], ["zzz", "1"], ["b", "2"]] as const) {
    assert.equal(input.write(encode(text), { writeId }), "accepted");
  }
  child.consume();
  assert.equal(consumedText(), "ab");
});

Deno.test("InputQueue.write() never takes writes without an id for repetitions", () => {
  const { child, input, consumedText } = setUp();
  input.write(encode("a"), NO_ID);
  input.write(encode("a"), NO_ID);
  child.consume();
  assert.equal(consumedText(), "aa");
});

Deno.test("InputQueue.write() takes one large write at once and makes the next one wait", async () => {
  const { child, input } = setUp();
  assert.equal(input.write(new Uint8Array(MAX_QUEUED_INPUT_BYTES * 3), NO_ID), "accepted");
  let status: InputStatus | undefined;
  Promise.resolve(input.write(encode("x"), NO_ID)).then((value) => status = value);
  await settled();
  assert.equal(status, undefined);
  assert.equal(child.queuedInputBytes, MAX_QUEUED_INPUT_BYTES * 3);
  child.consume();
  await settled();
  assert.equal(status, "accepted");
});

Deno.test("InputQueue.write() makes writes wait beyond a number of chunks", async () => {
  const { child, input } = setUp();
  for (let count = 0; count < MAX_QUEUED_INPUT_CHUNKS; count++) {
    assert.equal(input.write(encode("x"), NO_ID), "accepted");
  }
  const waiting = input.write(encode("y"), NO_ID);
  assert(waiting instanceof Promise);
  child.consume(1);
  assert.equal(await waiting, "accepted");
});

Deno.test("InputQueue.write() keeps the order of waiting writes", async () => {
  const { child, input, consumedText } = setUpFull();
  const statuses = [input.write(encode("a"), NO_ID), input.write(encode("b"), NO_ID), input.write(encode("c"), NO_ID)];
  child.consume();
  await settled();
  child.consume();
  assert.deepEqual(await Promise.all(statuses), ["accepted", "accepted", "accepted"]);
  assert.equal(consumedText().slice(-3), "abc");
});

Deno.test("InputQueue.write() writes a waiting id once, though its retry waits too", async () => {
  const { child, input, consumedText } = setUpFull();
  const statuses = [input.write(encode("once"), { writeId: "w" }), input.write(encode("once"), { writeId: "w" })];
  child.consume();
  await settled();
  child.consume();
  assert.deepEqual(await Promise.all(statuses), ["accepted", "accepted"]);
  assert.equal(consumedText().slice(-8), "\0\0\0\0once");
});

Deno.test("InputQueue.write() of a waiting write that is given up writes nothing, and its id stays free", async () => {
  const { child, input, consumedText } = setUpFull();
  const controller = new AbortController();
  const waiting = Promise.resolve(input.write(encode("lost"), { writeId: "w", signal: controller.signal }));
  const behind = input.write(encode("kept"), NO_ID);
  controller.abort(new Error("connection is gone"));
  await assert.rejects(waiting, /connection is gone/);
  child.consume();
  await settled();
  assert.equal(await behind, "accepted");
  assert.equal(input.write(encode("again"), { writeId: "w" }), "accepted");
  child.consume();
  assert.equal(consumedText().slice(-9), "keptagain");
});

Deno.test("InputQueue.write() refuses to wait for a caller that is gone already", async () => {
  const { input } = setUpFull();
  const signal = AbortSignal.abort(new Error("gone"));
  await assert.rejects(Promise.resolve(input.write(encode("x"), { writeId: null, signal })), /gone/);
});

Deno.test("InputQueue.close() releases waiting writes and refuses later ones", async () => {
  const { input } = setUpFull();
  const waiting = input.write(encode("x"), NO_ID);
  input.close();
  assert.equal(await waiting, "stdinClosed");
  assert.equal(input.write(encode("y"), NO_ID), "stdinClosed");
  assert.equal(input.end(), false);
});

Deno.test("InputQueue.write() still accepts an id it has accepted when the input is closed", () => {
  const { input } = setUp();
  input.write(encode("x"), { writeId: "w" });
  input.close();
  assert.equal(input.write(encode("x"), { writeId: "w" }), "accepted");
  assert.equal(input.write(encode("x"), { writeId: "other" }), "stdinClosed");
});

Deno.test("InputQueue notices that the child has closed its input", async () => {
  const { child, input } = setUpFull();
  const waiting = input.write(encode("x"), NO_ID);
  child.closeOwnInput();
  assert.equal(await waiting, "stdinClosed");
  assert.equal(input.write(encode("y"), NO_ID), "stdinClosed");
});

Deno.test("InputQueue.end() ends the input at once when nothing waits, and only once", () => {
  const { child, input } = setUp();
  input.write(encode("x"), NO_ID);
  assert.equal(input.end(), true);
  assert.equal(child.isInputEnded, true);
  assert.equal(input.end(), false);
  assert.equal(input.write(encode("y"), NO_ID), "stdinClosed");
});

Deno.test("InputQueue.end() lets waiting writes through first", async () => {
  const { child, input, consumedText } = setUpFull();
  const waiting = input.write(encode("last"), NO_ID);
  assert.equal(input.end(), true);
  assert.equal(child.isInputEnded, false);
  assert.equal(input.write(encode("late"), NO_ID), "stdinClosed");
  child.consume();
  assert.equal(await waiting, "accepted");
  assert.equal(child.isInputEnded, true);
  child.consume();
  assert.equal(consumedText().slice(-4), "last");
});

Deno.test("InputQueue.end() takes effect when the last waiting write is given up", async () => {
  const { child, input } = setUpFull();
  const controller = new AbortController();
  const waiting = Promise.resolve(input.write(encode("x"), { writeId: null, signal: controller.signal }));
  input.end();
  controller.abort();
  await assert.rejects(waiting);
  assert.equal(child.isInputEnded, true);
});

Deno.test("InputQueue delivers accepted bytes once and in order, whatever is retried, given up or slow", async () => {
  await forSeeds(100, async (random) => {
    const { child, input, consumedText } = setUp();
    const texts = new Map<string, string>();
    const outcomes: { id: string; status: InputStatus | "given up" }[] = [];
    const pending: Promise<void>[] = [];
    for (let step = 0; step < 120; step++) {
      if (random.chance(0.3)) {
        child.consume(random.int(600_000));
        await settled();
      }
      const id = `${random.int(60)}`;
      const text = texts.get(id) ?? `<${id}:${"x".repeat(random.chance(0.1) ? 400_000 : random.int(20))}>`;
      texts.set(id, text);
      const controller = new AbortController();
      const status = input.write(encode(text), { writeId: id, signal: controller.signal });
      if (status instanceof Promise) {
        pending.push(status.then(
          (status) => void outcomes.push({ id, status }),
          () => void outcomes.push({ id, status: "given up" }),
        ));
        if (random.chance(0.3)) controller.abort();
        await settled();
      } else {
        outcomes.push({ id, status });
      }
      assert(child.queuedInputBytes <= MAX_QUEUED_INPUT_BYTES + 400_010, "input in memory is bounded");
    }
    while (child.queuedInputBytes > 0) {
      child.consume();
      await settled();
    }
    await Promise.all(pending);

    const written = consumedText().match(/<\d+:x*>/g) ?? [];
    assert.equal(written.join(""), consumedText(), "nothing is torn");
    const ids = written.map((text) => text.slice(1, text.indexOf(":")));
    assert.equal(new Set(ids).size, ids.length, "no id is written twice");
    const accepted = new Set(outcomes.filter(({ status }) => status === "accepted").map(({ id }) => id));
    assert.deepEqual(new Set(ids), accepted, "exactly the accepted ids are written");
  });
});
