import assert from "node:assert/strict";
import { type Channel, Client, ConnectionLostError, MalformedAnswerError } from "../support/rpc_client.ts";

/** A server made of the texts that a test gives it. */
class FakeServer implements Channel {
  onMessage: (text: string) => void = () => {};
  onClose: (reason: string) => void = () => {};
  // deno-lint-ignore no-explicit-any
  readonly requests: any[] = [];
  sendFailure: Error | null = null;

  send(text: string): void {
    if (this.sendFailure !== null) throw this.sendFailure;
    const message = JSON.parse(text);
    this.requests.push(message);
    if (message.method === "initialize") this.says({ id: message.id, result: { sessionId: "s", environmentInfo: {} } });
  }

  close(): void {
    queueMicrotask(() => this.onClose("closed"));
  }

  says(message: unknown): void {
    const text = typeof message === "string" ? message : JSON.stringify(message);
    queueMicrotask(() => this.onMessage(text));
  }

  get lastId(): number {
    return this.requests.at(-1).id;
  }
}

async function setUp(): Promise<{ server: FakeServer; client: Client }> {
  const server = new FakeServer();
  return { server, client: await Client.handshake(server, { clientName: "test" }) };
}

Deno.test("an answer that cannot be read fails its own call and no other", async () => {
  const { server, client } = await setUp();
  const answers = [
    (id: number) => ({ id }),
    (id: number) => ({ id, error: null }),
    (id: number) => ({ id, error: { code: "x", message: "m" } }),
    (id: number) => ({ id, error: { code: 1 } }),
  ];
  const other = client.call("environment/info", null);
  const otherId = server.lastId;
  for (const answer of answers) {
    const call = client.call("environment/status", null);
    server.says(answer(server.lastId));
    await assert.rejects(call, MalformedAnswerError);
  }
  server.says({ id: otherId, result: "fine" });
  assert.equal(await other as unknown, "fine");
  await client.close();
});

Deno.test("an unreadable message that may have been any call's answer ends the connection and fails every call", async () => {
  const table: [unknown, RegExp][] = [
    ['{"id":2,"result":', /cannot read a message/],
    ['{"id":2,"result":1,"result":2}', /cannot read a message/],
    [{ id: 1.5, result: {} }, /cannot read a message/],
    [{ id: 4711, error: {} }, /cannot read a message/],
    [{ id: -1, error: { code: -32600, message: "failed to parse: too deep" } }, /^failed to parse: too deep$/],
  ];
  for (const [message, reason] of table) {
    const { server, client } = await setUp();
    const events = client.follow("p");
    const calls = [client.call("environment/status", null), client.call("environment/info", null)];
    server.says(message);
    for (const call of calls) {
      await assert.rejects(call, (error) => error instanceof ConnectionLostError && reason.test(error.message));
    }
    assert.match(await client.closed, reason);
    assert.equal((await events.next()).done, true);
    await assert.rejects(client.call("environment/status", null), ConnectionLostError);
  }
});

Deno.test("a call whose message cannot be sent fails with the reason", async () => {
  const { server, client } = await setUp();
  server.sendFailure = new TypeError("not open");
  await assert.rejects(client.call("environment/status", null), /not open/);
});

Deno.test("notifications without parameters are passed on like others", async () => {
  const { server, client } = await setUp();
  const seen: unknown[] = [];
  const bare = Promise.withResolvers<void>();
  client.onNotification(({ method, params }) => {
    seen.push([method, params]);
    if (seen.length === 3) bare.resolve();
  });
  for (const message of [{ method: "a" }, { method: "b", params: null }, { method: "c", params: {} }]) {
    server.says(message);
  }
  await bare.promise;
  assert.deepEqual(seen, [["a", undefined], ["b", null], ["c", {}]]);
});

Deno.test("long content of an answer reaches the caller as its text, and nobody decodes it on the way", async () => {
  const { server, client } = await setUp();
  const dataBase64 = new Uint8Array(300_000).toBase64();
  const original = Uint8Array.fromBase64;
  let decodings = 0;
  Uint8Array.fromBase64 = (text: string) => {
    decodings++;
    return original.call(Uint8Array, text);
  };
  try {
    const call = client.call("fs/readFile", { path: "/f" });
    server.says({ id: server.lastId, result: { dataBase64 } });
    assert.equal((await call).dataBase64, dataBase64);
  } finally {
    Uint8Array.fromBase64 = original;
  }
  assert.equal(decodings, 0);
});
