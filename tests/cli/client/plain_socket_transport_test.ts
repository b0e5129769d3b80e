import assert from "node:assert/strict";
import { PlainSocketTransport } from "../../../src/cli/client/places/plain_socket_transport.ts";
import { UnauthorisedError } from "../../../src/client/errors.ts";

const OPEN = { token: null, signal: new AbortController().signal };

Deno.test("PlainSocketTransport.toUrl takes addresses without TLS, and leaves names and TLS to the runtime", () => {
  for (const url of ["ws://127.0.0.1:9000", "ws://127.1/path", "ws://[::1]:9000/?token=secret"]) {
    const name = PlainSocketTransport.toUrl(new URL(url))?.name;
    assert.ok(name !== undefined && !name.includes("secret"), url);
  }
  for (const url of ["wss://127.0.0.1:9000", "ws://localhost:9000", "ws://1.example:9000"]) {
    assert.equal(PlainSocketTransport.toUrl(new URL(url)), null, url);
  }
});

Deno.test("PlainSocketTransport says why a server refused, with the token where the URL has it", async () => {
  const asked: string[] = [];
  await using server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, (request) => {
    asked.push(new URL(request.url).search, request.headers.get("authorization") ?? "");
    return new Response("another token, please", { status: 401 });
  });
  const transport = PlainSocketTransport.toUrl(new URL(`ws://127.0.0.1:${server.addr.port}/?token=one`))!;
  await assert.rejects(transport.open({ ...OPEN, token: "two" }), (error: Error) => {
    assert.ok(error instanceof UnauthorisedError);
    assert.match(error.message, /another token, please/);
    assert.ok(!error.message.includes("one"));
    return true;
  });
  assert.deepEqual(asked, ["?token=one", "Bearer two"]);
});

Deno.test("PlainSocketTransport gives up when it is told to, before and during the upgrade", async () => {
  await assert.rejects(
    PlainSocketTransport.toUrl(new URL("ws://127.0.0.1:9"))!.open({ token: null, signal: AbortSignal.abort() }),
    /cannot connect/,
  );
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const transport = PlainSocketTransport.toUrl(new URL(`ws://127.0.0.1:${(listener.addr as Deno.NetAddr).port}`))!;
  const abort = new AbortController();
  const opening = transport.open({ token: null, signal: abort.signal });
  const accepted = await listener.accept();
  await accepted.read(new Uint8Array(1000));
  abort.abort();
  await assert.rejects(opening, /cannot connect/);
  // The other side sees the end.
  assert.equal(await accepted.read(new Uint8Array(10)), null);
  accepted.close();
  listener.close();
});

Deno.test("PlainSocketTransport takes a message of more than the 16 MiB that a server takes", async () => {
  const text = "ä".repeat(10 * 1024 * 1024);
  await using server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, (request) => {
    const { socket, response } = Deno.upgradeWebSocket(request);
    socket.onopen = () => socket.send(text);
    return response;
  });
  const link = await PlainSocketTransport.toUrl(new URL(`ws://127.0.0.1:${server.addr.port}`))!.open(OPEN);
  const received: (string | null)[] = [];
  const { type } = await link.receive((message) => {
    received.push(message);
    link.close();
  });
  assert.equal(type, "closedByUs");
  assert.ok(received.length === 1 && received[0] === text);
});
