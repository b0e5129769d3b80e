/** `box.tunnel`: bytes both ways, each direction for itself, and what ends it. */

import assert from "node:assert/strict";
import { connect, ConnectionLostError, ServerError } from "../../src/client/mod.ts";
import { FaultyProxy } from "../support/faulty_proxy.ts";
import { Random } from "../support/random.ts";
import { TestServer } from "../support/test_server.ts";

/** More than the window of a tunnel, and than the buffers of sockets. */
const LONG_BYTES = 20_000_000;

/** A listener whose connections a test handles one by one. */
async function listening(body: (port: number, accept: () => Promise<Deno.TcpConn>) => Promise<void>): Promise<void> {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  try {
    await body(listener.addr.port, () => listener.accept());
  } finally {
    listener.close();
  }
}

/** All until its end. The connection stays open the other way. */
async function received(connection: Deno.Conn): Promise<string> {
  let text = "";
  const buffer = new Uint8Array(1000);
  for (let count = await connection.read(buffer); count !== null; count = await connection.read(buffer)) {
    text += new TextDecoder().decode(buffer.subarray(0, count));
  }
  return text;
}

async function total(stream: ReadableStream<Uint8Array>): Promise<number> {
  let bytes = 0;
  for await (const chunk of stream) bytes += chunk.length;
  return bytes;
}

Deno.test("bytes pass both ways, and each direction ends by itself", async () => {
  await using server = await TestServer.start({ args: ["--allow-tunnel"] });
  await using box = await connect(server.url);
  await listening(async (port, accept) => {
    const tunnel = await box.tunnel(port);
    const far = await accept();
    const writer = tunnel.writable.getWriter();
    await writer.write(new TextEncoder().encode("question"));
    await writer.close();
    assert.equal(await received(far), "question");
    const long = total(tunnel.readable);
    const bytes = new Uint8Array(LONG_BYTES);
    for (let at = 0; at < bytes.length;) at += await far.write(bytes.subarray(at));
    far.close();
    assert.equal(await long, LONG_BYTES);
  });
});

Deno.test("a tunnel that is not read waits, and others go on", async () => {
  await using server = await TestServer.start({ args: ["--allow-tunnel"] });
  await using box = await connect(server.url);
  await listening(async (port, accept) => {
    const stuck = await box.tunnel(port);
    const far = await accept();
    let sent = 0;
    const chunk = new Uint8Array(1_000_000);
    const sending = (async () => {
      while (sent < LONG_BYTES) sent += await far.write(chunk);
      far.close();
    })();
    const other = await box.tunnel(port);
    const second = await accept();
    await second.write(new TextEncoder().encode("hello"));
    second.close();
    assert.equal(await new Response(other.readable).text(), "hello");
    await other.writable.close();
    assert.ok(sent < LONG_BYTES, "the sender waits for the reader");
    const read = await total(stuck.readable);
    await sending;
    assert.equal(read, sent);
    await stuck.writable.close();
  });
});

Deno.test("a tunnel fails with its connection, and is refused if nobody listens or the server opens none", async () => {
  await using server = await TestServer.start({ args: ["--allow-tunnel"] });
  await using proxy = new FaultyProxy({
    port: server.port,
    random: new Random(1),
    faults: ["reset"],
    maxBytesBetween: 1,
    maxFaults: 0,
  });
  await using box = await connect(proxy.url, { maxBackOff: 50 });
  await listening(async (port, accept) => {
    const tunnel = await box.tunnel(port);
    const far = await accept();
    const read = tunnel.readable.getReader().read();
    proxy.breakAll("reset");
    await assert.rejects(read, ConnectionLostError);
    assert.equal(await far.read(new Uint8Array(1)), null);
    far.close();
    const again = await box.tunnel(port);
    (await accept()).close();
    again.close();
  });
  const free = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  free.close();
  await assert.rejects(box.tunnel(free.addr.port), (error) => error instanceof ServerError);

  await using without = await TestServer.start();
  await using closed = await connect(without.url);
  await assert.rejects(closed.tunnel(80), /--allow-tunnel/);
});
