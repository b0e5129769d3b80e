/** Tunnels to ports of the server's machine: bytes both ways, back-pressure, and what is refused. */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { MAX_TUNNELS, MAX_TUNNELS_OF_ALL, TUNNEL_WINDOW_BYTES } from "../../src/net/limits.ts";
import { type Client, RpcError } from "../support/rpc_client.ts";
import { TestServer } from "../support/test_server.ts";
import { until } from "../support/until.ts";

function refusal(code: number, message: RegExp) {
  return (error: unknown) => {
    assert(error instanceof RpcError, String(error));
    assert.equal(error.code, code);
    assert.match(error.message, message);
    return true;
  };
}

/** A listener whose connections the test handles itself. */
class Port implements AsyncDisposable {
  readonly #listener: Deno.TcpListener;
  readonly #connections: Deno.Conn[] = [];

  constructor(hostname = "127.0.0.1") {
    this.#listener = Deno.listen({ hostname, port: 0 });
  }

  get number(): number {
    return this.#listener.addr.port;
  }

  async accept(): Promise<Deno.TcpConn> {
    const connection = await this.#listener.accept();
    this.#connections.push(connection);
    return connection;
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#listener.close();
    for (const connection of this.#connections) {
      try {
        connection.close();
      } catch {
        // Closed by the test.
      }
    }
    return Promise.resolve();
  }
}

/** What has come out of the tunnels of a client. */
class Told {
  readonly bytes = new Map<string, number>();
  readonly lines: string[] = [];
  onData: (tunnelId: string, bytes: Uint8Array<ArrayBuffer>) => void = () => {};

  constructor(client: Client) {
    client.onNotification(({ method, params }) => {
      if (method === "net/data") {
        const data = Uint8Array.fromBase64(params.chunk);
        this.bytes.set(params.tunnelId, (this.bytes.get(params.tunnelId) ?? 0) + data.length);
        this.onData(params.tunnelId, data);
      }
      if (method === "net/ended") this.lines.push(`${params.tunnelId} ended`);
      if (method === "net/closed") this.lines.push(`${params.tunnelId} closed ${params.error}`);
    });
  }

  async line(text: string): Promise<void> {
    await until(() => this.lines.includes(text), () => this.lines.join(", "));
  }
}

const start = () => TestServer.start({ args: ["--allow-tunnel"] });

Deno.test("a tunnel carries bytes both ways, and each direction ends on its own", async () => {
  await using server = await start();
  await using client = await server.connect();
  assert.equal(client.environmentInfo.capabilities.netConnect, true);
  await using port = new Port();
  const told = new Told(client);
  await client.call("net/connect", { tunnelId: "t", port: port.number });
  const far = await port.accept();
  const sent = createHash("sha256");
  const received = createHash("sha256");
  const reading = (async () => {
    const buffer = new Uint8Array(100_000);
    for (let count = await far.read(buffer); count !== null; count = await far.read(buffer)) {
      received.update(buffer.subarray(0, count));
      await far.write(buffer.slice(0, count));
    }
    await far.closeWrite();
  })();
  const back = createHash("sha256");
  told.onData = (tunnelId, bytes) => {
    back.update(bytes);
    // Lost with the tunnel, in the end.
    client.call("net/ack", { tunnelId, bytes: told.bytes.get(tunnelId)! }).catch(() => {});
  };
  for (let round = 0; round < 40; round++) {
    const chunk = crypto.getRandomValues(new Uint8Array(50_000));
    sent.update(chunk);
    await client.call("net/write", { tunnelId: "t", chunk: chunk.toBase64() });
  }
  await client.call("net/closeWrite", { tunnelId: "t" });
  await reading;
  await told.line("t closed null");
  assert.deepEqual(told.lines, ["t ended", "t closed null"]);
  const digest = sent.digest("hex");
  assert.deepEqual([received.digest("hex"), back.digest("hex")], [digest, digest]);
  await assert.rejects(client.call("net/write", { tunnelId: "t", chunk: "" }), refusal(-32600, /^unknown tunnel t: /));
  assert.deepEqual(await client.call("net/close", { tunnelId: "t" }), {});
  assert.deepEqual(await client.call("net/ack", { tunnelId: "t", bytes: 9 }), {}, "it may have been on its way");
});

Deno.test("what is not acknowledged is not read, and other tunnels and requests flow on", async () => {
  await using server = await start();
  await using client = await server.connect();
  await using port = new Port();
  const told = new Told(client);
  await client.call("net/connect", { tunnelId: "slow", port: port.number });
  const slow = await port.accept();
  await client.call("net/connect", { tunnelId: "quick", port: port.number });
  const quick = await port.accept();
  // A piece of an odd length, so that the window does not end where a read would.
  await slow.write(new Uint8Array(999));
  await until(() => told.bytes.get("slow") === 999, () => `${told.bytes.get("slow")}`);
  let hasSentAll = false;
  const flood = (async () => {
    const block = new Uint8Array(1_000_000);
    for (let round = 0; round < 40; round++) {
      for (let at = 0; at < block.length;) at += await slow.write(block.subarray(at));
    }
    hasSentAll = true;
    await slow.closeWrite();
  })();
  await until(() => (told.bytes.get("slow") ?? 0) >= TUNNEL_WINDOW_BYTES, () => `${told.bytes.get("slow")}`);
  for (let round = 0; round < 20; round++) {
    await quick.write(new Uint8Array(10_000));
    await until(() => told.bytes.get("quick") === (round + 1) * 10_000, () => `${told.bytes.get("quick")}`);
    await client.call("net/ack", { tunnelId: "quick", bytes: (round + 1) * 10_000 });
    await client.call("environment/status", null);
  }
  assert.equal(told.bytes.get("slow"), TUNNEL_WINDOW_BYTES);
  assert.equal(hasSentAll, false, "the far end waits");
  await assert.rejects(
    client.call("net/ack", { tunnelId: "slow", bytes: 2 ** 40 }),
    refusal(-32602, /^1099511627776 bytes were never sent: tunnel slow has sent \d+$/),
  );
  told.onData = (tunnelId) => client.call("net/ack", { tunnelId, bytes: told.bytes.get(tunnelId)! });
  await client.call("net/ack", { tunnelId: "slow", bytes: told.bytes.get("slow")! });
  await flood;
  await told.line("slow ended");
  assert.equal(told.bytes.get("slow"), 40_000_999);
});

Deno.test("a far end that does not read makes the write wait, and closing the tunnel ends it", async () => {
  await using server = await start();
  await using client = await server.connect();
  await using port = new Port();
  await client.call("net/connect", { tunnelId: "t", port: port.number, host: "127.0.0.1" });
  await port.accept();
  const write = (bytes: number) => client.call("net/write", { tunnelId: "t", chunk: new Uint8Array(bytes).toBase64() });
  await write(1000);
  const outcomes = Promise.allSettled(Array.from({ length: 8 }, () => write(4_000_000)));
  assert.deepEqual(await client.call("environment/status", null), { status: "ready" });
  await client.call("net/close", { tunnelId: "t" });
  const failed = (await outcomes).filter(({ status }) => status === "rejected");
  assert.ok(failed.length > 0, "32 MB do not fit into the system's buffers");
});

Deno.test("only loopback addresses are reached, and a port without a listener is an error", async () => {
  await using server = await start();
  await using client = await server.connect();
  const hosts = [
    "192.0.2.1",
    "0.0.0.0",
    "::",
    "example.com",
    "169.254.169.254",
    "127.1",
    "10.0.0.1",
    "::ffff:10.0.0.1",
    "",
  ];
  for (const host of hosts) {
    await assert.rejects(
      client.call("net/connect", { tunnelId: "t", port: 80, host }),
      refusal(-32602, /^host must be localhost or a loopback address of the server's machine, not /),
      host,
    );
  }
  const free = new Port();
  const { number } = free;
  await free[Symbol.asyncDispose]();
  for (const host of ["localhost", "127.0.0.1"]) {
    await assert.rejects(
      client.call("net/connect", { tunnelId: "t", port: number, host }),
      refusal(-32603, /^Cannot connect to port \d+ of this machine: Connection refused \(os error 111\)$/),
    );
  }
  await assert.rejects(client.call("net/connect", { tunnelId: "t", port: 70_000 }), refusal(-32602, /^port: |65535/));
});

Deno.test("ids and numbers of tunnels are limited, and a lost connection closes them all", async () => {
  await using server = await start();
  const client = await server.connect();
  await using port = new Port();
  const connect = (tunnelId: string) => client.call("net/connect", { tunnelId, port: port.number });
  const far: Deno.TcpConn[] = [];
  for (let index = 0; index < MAX_TUNNELS; index++) {
    await connect(`${index}`);
    far.push(await port.accept());
  }
  await assert.rejects(connect("0"), refusal(-32600, /^tunnel 0 is open already$/));
  await assert.rejects(
    connect("more"),
    refusal(-32600, /^this connection may not have more than 128 tunnels at once$/),
  );
  await client.call("net/close", { tunnelId: "0" });
  assert.equal(await far[0]!.read(new Uint8Array(1)), null);
  await connect("more");
  far.push(await port.accept());
  await using second = await server.connect();
  for (let index = 0; index < MAX_TUNNELS_OF_ALL - MAX_TUNNELS; index++) {
    await second.call("net/connect", { tunnelId: `${index}`, port: port.number });
    await port.accept();
  }
  await using third = await server.connect();
  const last = () => third.call("net/connect", { tunnelId: "t", port: port.number });
  await assert.rejects(last(), refusal(-32600, /^this server may not have more than 256 tunnels$/));
  await client.close();
  for (const connection of far.slice(1)) assert.equal(await connection.read(new Uint8Array(1)), null);
  assert.deepEqual(await last(), {}, "what was closed has given its place back");
  await port.accept();
});

Deno.test("a server without --allow-tunnel opens no tunnels, and says so", async () => {
  await using server = await TestServer.start();
  await using client = await server.connect();
  assert.equal(client.environmentInfo.capabilities.netConnect, undefined);
  const refused = refusal(-32600, /^this server opens no tunnels: start it with --allow-tunnel$/);
  for (let round = 0; round < 2; round++) {
    await assert.rejects(client.call("net/connect", { tunnelId: "t", port: 80 }), refused);
    await assert.rejects(client.call("net/close", { tunnelId: "t" }), refused);
  }
});
