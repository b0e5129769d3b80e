import assert from "node:assert/strict";
import { METHOD_TEXTS, NOTIFICATION_TEXTS } from "../../src/protocol/spec/texts.ts";
import { RawWebSocket } from "../support/raw_websocket.ts";
import { inScratchDirectory } from "../support/scratch_directory.ts";
import { TestServer } from "../support/test_server.ts";

/** What stands in the examples for the directory and the web server of this run. */
const DIRECTORY = "/tmp/demo";
const WEB_SERVER = "http://127.0.0.1:8000/";

interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly params?: unknown;
  readonly result?: unknown;
  readonly error?: { readonly message: string };
}

Deno.test("every example of the protocol's page happens as it is written", async () => {
  await inScratchDirectory(async (directory) => {
    await using web = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen: () => {} },
      () => new Response("hello\n", { headers: { "content-type": "text/plain" } }),
    );
    const inThisRun = (value: unknown) =>
      JSON.parse(
        JSON.stringify(value ?? null).replaceAll(DIRECTORY, directory)
          .replaceAll(WEB_SERVER, `http://127.0.0.1:${web.addr.port}/`)
          .replaceAll('"port":8000', `"port":${web.addr.port}`),
      );
    await using server = await TestServer.start({ args: ["--allow-tunnel"] });
    const peer = new Peer(await RawWebSocket.connect(server.url));

    const missing = new Map(Object.entries(NOTIFICATION_TEXTS));
    const tellOff = () => {
      for (const [name, { example }] of missing) {
        const expected = inThisRun(example.params);
        const isTold = peer.told.some(({ method, params }) =>
          method === name && isLike(expected, params, example.varies ?? [])
        );
        if (isTold) missing.delete(name);
      }
    };
    for (const [method, { example }] of Object.entries(METHOD_TEXTS)) {
      if (method === "session/end") {
        // Some notifications take their time.
        for (tellOff(); missing.size > 0; tellOff()) await peer.receive();
      }
      for (const request of example.before ?? []) await peer.ask(request.method, inThisRun(request.params));
      const { result, error } = await peer.ask(method, inThisRun(example.params));
      assert.equal(error, undefined, `${method}: ${error?.message}`);
      const expected = inThisRun(example.result);
      for (const place of example.varies ?? []) take(expected, result, place.split("."));
      assert.deepEqual(result, expected, method);
      if (method === "initialize") await peer.socket.sendText('{"method":"initialized"}');
    }
  });
});

/** Requests one after another, and what is told meanwhile. */
class Peer {
  readonly socket: RawWebSocket;
  readonly told: Message[] = [];
  #lastId = 0;

  constructor(socket: RawWebSocket) {
    this.socket = socket;
  }

  async ask(method: string, params: unknown): Promise<Message> {
    const id = ++this.#lastId;
    await this.socket.sendText(JSON.stringify({ id, method, ...(params === null ? {} : { params }) }));
    for (;;) {
      const message = await this.receive();
      if (message.id === id) return message;
    }
  }

  async receive(): Promise<Message> {
    const message: Message | null = await this.socket.readMessage();
    if (message === null) throw new Error("the server has closed the connection");
    if (message.method !== undefined) this.told.push(message);
    return message;
  }
}

function isLike(expected: unknown, actual: unknown, varies: readonly string[]): boolean {
  const copy = structuredClone(expected);
  for (const place of varies) take(copy, actual, place.split("."));
  try {
    assert.deepEqual(actual, copy);
    return true;
  } catch {
    return false; // Another one of the same name.
  }
}

/** Puts what really came at a place of the expected value. It has to be there in both. */
function take(expected: unknown, actual: unknown, [name, ...rest]: readonly string[]): void {
  const [a, b] = [expected, actual] as Record<string, unknown>[];
  assert.ok(name! in a! && name! in b!, `${name} is in the example, and in what came`);
  if (rest.length === 0) a![name!] = b![name!];
  else take(a![name!], b![name!], rest);
}
