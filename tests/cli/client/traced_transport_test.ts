import assert from "node:assert/strict";
import { TracedTransport } from "../../../src/cli/client/places/traced_transport.ts";
import type { Transport } from "../../../src/client/link/transport.ts";

/** Answers each message with itself in capitals. */
const echo: Transport = {
  name: "echo",
  canReconnect: true,
  open() {
    let receiver: (message: string | null) => unknown = () => {};
    const ended = Promise.withResolvers<{ type: "closedByUs" }>();
    return Promise.resolve({
      receive(given) {
        receiver = given;
        return ended.promise;
      },
      async send(messages) {
        for (const message of messages) await receiver(message.toUpperCase());
      },
      close: () => ended.resolve({ type: "closedByUs" }),
    });
  },
};

const OPENING = { token: "secret", signal: new AbortController().signal };

async function exchange(transport: Transport, messages: string[]): Promise<(string | null)[]> {
  const link = await transport.open(OPENING);
  const got: (string | null)[] = [];
  const end = link.receive((message) => void got.push(message));
  await link.send(messages);
  link.close();
  assert.deepEqual(await end, { type: "closedByUs" });
  return got;
}

Deno.test("TracedTransport writes each message on a line of its own, by connection", async () => {
  const path = await Deno.makeTempFile();
  try {
    using file = await Deno.open(path, { append: true });
    const transport = new TracedTransport(echo, file);
    assert.deepEqual([transport.name, transport.canReconnect], ["echo", true]);
    assert.deepEqual(await exchange(transport, ['{\n"a":1}', "b"]), ['{\n"A":1}', "B"]);
    assert.deepEqual(await exchange(transport, ["é"]), ["É"]);
    assert.deepEqual((await Deno.readTextFile(path)).replaceAll(`${Deno.pid}.`, "PID.").split("\n"), [
      'PID.1 > { "a":1}',
      "PID.1 > b",
      'PID.1 < { "A":1}',
      "PID.1 < B",
      "PID.2 > é",
      "PID.2 < É",
      "",
    ]);
  } finally {
    await Deno.remove(path);
  }
});

Deno.test("TracedTransport reports once that the file cannot be written, and goes on", async () => {
  const path = await Deno.makeTempFile();
  const told: string[] = [];
  const usual = console.error;
  console.error = (text: string) => told.push(text);
  try {
    // Open for reading alone: every write fails.
    using file = await Deno.open(path);
    assert.deepEqual(await exchange(new TracedTransport(echo, file), ["a", "b"]), ["A", "B"]);
  } finally {
    console.error = usual;
    await Deno.remove(path);
  }
  assert.equal(told.length, 1);
  assert.match(told[0]!, /^exec-server: cannot go on writing the trace: /);
});
