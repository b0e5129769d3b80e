import assert from "node:assert/strict";
import type { Body } from "../../src/http/body.ts";
import { type BodyDelta, type BodyDeltaSink, BodyStreams } from "../../src/http/body_streams.ts";

/** A sink with room for so many pieces; the last piece of a stream needs none. */
class Sink implements BodyDeltaSink {
  readonly deltas: BodyDelta[] = [];
  room = Infinity;

  delta(delta: BodyDelta): void {
    this.deltas.push(delta);
    if (!delta.done) this.room--;
  }

  get hasRoom(): boolean {
    return this.room > 0;
  }

  get texts(): string[] {
    return this.deltas.map(({ requestId, seq, bytes, done, error }) =>
      `${requestId}${seq}${done ? ` done ${error}` : `=${new TextDecoder().decode(bytes)}`}`
    );
  }
}

function bodyOf(...parts: (string | Error)[]): Body {
  const left = [...parts];
  return {
    length: null,
    read: () => {
      const part = left.shift();
      if (part instanceof Error) return Promise.reject(part);
      return Promise.resolve(part === undefined ? null : new TextEncoder().encode(part));
    },
  };
}

function options(requestId: string, body: Body, signal = new AbortController().signal) {
  return { requestId, body, signal, describeFailure: (error: unknown) => `failed: ${(error as Error).message}` };
}

/** Lets everything that can go on do so. */
const settle = () => new Promise((resolve) => setTimeout(resolve));

Deno.test("BodyStreams.pump() numbers pieces from 1 and ends with one without bytes", async () => {
  const sink = new Sink();
  await new BodyStreams(sink).pump(options("a", bodyOf("x", "y")));
  assert.deepEqual(sink.texts, ["a1=x", "a2=y", "a3 done null"]);
});

Deno.test("BodyStreams.pump() ends an empty body with its only piece", async () => {
  const sink = new Sink();
  await new BodyStreams(sink).pump(options("a", bodyOf()));
  assert.deepEqual(sink.texts, ["a1 done null"]);
});

Deno.test("BodyStreams.pump() tells a failure on the last piece", async () => {
  const sink = new Sink();
  await new BodyStreams(sink).pump(options("a", bodyOf("x", new Error("broken"))));
  assert.deepEqual(sink.texts, ["a1=x", "a2 done failed: broken"]);
});

Deno.test("BodyStreams stops reading a body while there is no room, and goes on when told", async () => {
  const sink = new Sink();
  sink.room = 1;
  const streams = new BodyStreams(sink);
  const done = streams.pump(options("a", bodyOf("x", "y", "z")));
  await settle();
  assert.deepEqual(sink.texts, ["a1=x"]);
  streams.resume();
  await settle();
  assert.deepEqual(sink.texts, ["a1=x"], "resumed without room");
  sink.room = 1;
  streams.resume();
  await settle();
  assert.deepEqual(sink.texts, ["a1=x", "a2=y"]);
  sink.room = 5;
  streams.resume();
  await done;
  assert.deepEqual(sink.texts, ["a1=x", "a2=y", "a3=z", "a4 done null"]);
});

Deno.test("BodyStreams gives room to the stream that has waited longest", async () => {
  const sink = new Sink();
  sink.room = 0;
  const streams = new BodyStreams(sink);
  const done = Promise.all(["a", "b", "c"].map((id) => streams.pump(options(id, bodyOf("1", "2")))));
  await settle();
  for (let turn = 0; turn < 6; turn++) {
    sink.room = 1;
    streams.resume();
    await settle();
  }
  await done;
  assert.deepEqual(sink.texts.filter((text) => text.includes("=")), ["a1=1", "b1=1", "c1=1", "a2=2", "b2=2", "c2=2"]);
});

Deno.test("BodyStreams sends nothing more once nobody listens, parked or not", async () => {
  const sink = new Sink();
  sink.room = 1;
  const streams = new BodyStreams(sink);
  const controller = new AbortController();
  const done = streams.pump(options("a", bodyOf("x", "y"), controller.signal));
  await settle();
  controller.abort();
  await done;
  sink.room = 5;
  streams.resume();
  assert.deepEqual(sink.texts, ["a1=x"]);
});
