/** The library over the runtime's own `WebSocket`, as browsers and Bun have it, and what every connection asks for anew. */

import assert from "node:assert/strict";
import { connect, ConnectionRefusedError, UnauthorisedError } from "../../src/client/mod.ts";
import { Relay } from "../support/relay.ts";
import { TestServer } from "../support/test_server.ts";

/** Counted, so that a test knows that it was this one. */
function countedWebSocket(): { WebSocket: typeof WebSocket; made: () => number } {
  let made = 0;
  class Counted extends WebSocket {
    constructor(...given: ConstructorParameters<typeof WebSocket>) {
      super(...given);
      made++;
    }
  }
  return { WebSocket: Counted, made: () => made };
}

Deno.test("a constructor of one's own makes the sockets, and a lost one is made again with a new token", async () => {
  await using server = await TestServer.start({ args: ["--ws-auth", "url-token"] });
  const secret = new URL(server.url).searchParams.get("token")!;
  await using relay = new Relay(server.port);
  const { WebSocket, made } = countedWebSocket();
  let asked = 0;
  const token = () => Promise.resolve((asked++, secret));
  await using box = await connect(`ws://127.0.0.1:${relay.port}`, { WebSocket, token });
  assert.equal((await box.run(["head", "-c", "3000000", "/dev/zero"])).stdout.length, 3_000_000);
  const cat = await box.spawn(["cat"], { stdin: "piped" });
  await cat.write("before ");
  const isBack = new Promise<void>((resolve) => {
    box.onConnectionChange(({ state }) => state === "connected" && resolve());
  });
  relay.cut();
  await isBack;
  await cat.write("after");
  await cat.closeStdin();
  assert.equal(await cat.stdout.text(), "before after");
  assert.deepEqual([made(), asked], [2, 2]);
});

Deno.test("the reason why such a socket was refused is requested over plain HTTP, and reported in the server's words", async () => {
  await using server = await TestServer.start({ args: ["--ws-auth", "url-token"] });
  const url = `ws://127.0.0.1:${server.port}/`;
  const { WebSocket, made } = countedWebSocket();
  for (const token of [undefined, "a guess"]) {
    const refused: unknown = await connect(url, { WebSocket, token }).catch((error) => error);
    assert.ok(refused instanceof UnauthorisedError, String(refused));
    const headers = token === undefined ? undefined : { authorization: `Bearer ${token}` };
    const check = await fetch(`http://127.0.0.1:${server.port}/session-check`, headers && { headers });
    assert.equal(refused.message, `cannot connect to ${url}: ${(await check.text()).trim()}`);
  }
  assert.equal(made(), 2);
  await assert.rejects(connect("ws://127.0.0.1:1", { WebSocket }), ConnectionRefusedError);
});

Deno.test("a client can ask how long its session waits, and learns what the server grants", async () => {
  await using server = await TestServer.start({ args: ["--max-detach-ttl-ms", "7200000"] });
  const granted = async (detachTtl?: string) => {
    await using box = await connect(server.url, { detachTtl });
    return box.detachTtlMs;
  };
  assert.deepEqual([await granted(), await granted("1h"), await granted("100h")], [30_000, 3_600_000, 7_200_000]);
});

Deno.test("inherit() shows a command's output where it comes from, on the streams of this program", async () => {
  await using server = await TestServer.start();
  const program = `import { connect } from ${JSON.stringify(new URL("../../src/client/mod.ts", import.meta.url).href)};
await using box = await connect(${JSON.stringify(server.url)});
await box.$\`printf 'out ü'; printf err >&2\`.inherit();`;
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "--quiet", "--no-check", "--allow-all", "-"],
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(program));
  await writer.close();
  const { stdout, stderr, code } = await child.output();
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  assert.deepEqual([text(stdout), text(stderr), code], ["out ü", "err", 0]);
});

Deno.test("an error of a listener affects neither the connection nor other listeners", async () => {
  await using server = await TestServer.start();
  await using box = await connect(server.url);
  const thrown = Promise.withResolvers<string>();
  const caught = (event: ErrorEvent) => {
    event.preventDefault();
    thrown.resolve(event.error.message);
  };
  globalThis.addEventListener("error", caught);
  const states: string[] = [];
  const told = new Set<string>();
  box.onConnectionChange(({ state }) => states.push(state));
  const stop = box.onNotification((method) => {
    if (method === "process/exited") throw new Error("a mistake");
  });
  box.onNotification((method) => told.add(method));
  assert.equal((await box.run(["true"])).code, 0);
  assert.equal(await thrown.promise, "a mistake");
  stop();
  globalThis.removeEventListener("error", caught);
  assert.equal((await box.run(["true"])).code, 0);
  assert.deepEqual([states, told.has("process/exited")], [[], true]);
});
