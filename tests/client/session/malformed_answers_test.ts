/** A server that answers what no server should: the call that was meant fails, and nothing else. */

import assert from "node:assert/strict";
import { connect, ProtocolError } from "../../../src/client/mod.ts";

/** Answers the handshake, calls of `odd/…` as they ask, and `even/…` when it is told to. */
class OddServer implements AsyncDisposable {
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  readonly #waiting: (() => void)[] = [];

  constructor() {
    this.#server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, (request) => {
      const { socket, response } = Deno.upgradeWebSocket(request);
      socket.onmessage = ({ data }) => this.#answer(socket, JSON.parse(data));
      return response;
    });
  }

  get url(): string {
    return `ws://127.0.0.1:${this.#server.addr.port}`;
  }

  /** Answers what waits. */
  release(): void {
    for (const answer of this.#waiting.splice(0)) answer();
  }

  #answer(socket: WebSocket, { id, method, params }: { id?: number; method: string; params: unknown }): void {
    const send = (members: unknown) => socket.send(JSON.stringify({ id, ...members as object }));
    if (method === "initialize") send({ result: { sessionId: "s", environmentInfo: {} } });
    else if (method === "odd") send(params);
    else if (method === "even") this.#waiting.push(() => send({ result: { good: true } }));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.shutdown();
  }
}

const ODD: readonly [name: string, answer: unknown, message: RegExp][] = [
  ["neither a result nor an error", {}, /^odd: cannot read the server's answer: neither a result nor an error$/],
  [
    "an error that is none",
    { error: "no" },
    /^odd: cannot read the server's answer: an error without code and message$/,
  ],
  ["an error without a message", { error: { code: 1 } }, /an error without code and message$/],
  ["a result that is no object", { result: 7 }, /^odd: the server's answer is not an object$/],
];

for (const [name, answer, message] of ODD) {
  Deno.test(`an answer with ${name} fails its own call; the others and the session go on`, async () => {
    await using server = new OddServer();
    await using box = await connect(server.url);
    const even = box.call("even", {});
    // Seen to have failed late, it would be an error of nobody.
    even.catch(() => {});
    await assert.rejects(box.call("odd", answer), (error) => {
      assert.ok(error instanceof ProtocolError, String(error));
      assert.match(error.message, message);
      return true;
    });
    server.release();
    assert.deepEqual(await even, { good: true });
    assert.equal(box.connectionState.state, "connected");
    const again = box.call("even", {});
    await assert.rejects(box.call("odd", answer), ProtocolError);
    server.release();
    assert.deepEqual(await again, { good: true });
  });
}

Deno.test("a late answer that cannot be read, to a call that nobody waits for any more, harms nobody", async () => {
  await using server = new OddServer();
  await using box = await connect(server.url);
  const even = box.call("even", {});
  const abandoned = box.call("odd", {}, { signal: AbortSignal.abort() });
  await assert.rejects(abandoned);
  const givenUp = new AbortController();
  const odd = box.call("odd", {}, { signal: givenUp.signal });
  givenUp.abort();
  await assert.rejects(odd);
  // Answered behind the odd one.
  await assert.rejects(box.call("odd", {}), ProtocolError);
  server.release();
  assert.deepEqual(await even, { good: true });
});
