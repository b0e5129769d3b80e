/** wss: the same server behind TLS, with the same limits, tokens and back-pressure. */

import assert from "node:assert/strict";
import { MAX_WAITING_CONNECTIONS } from "../../src/protocol/limits.ts";
import { OPCODE } from "../../src/transport/websocket/websocket_frames.ts";
import { makeCertificate } from "../support/certificates.ts";
import { Flood } from "../support/flood.ts";
import { areInstalled } from "../support/installed.ts";
import { descriptorCount, residentMb } from "../support/proc.ts";
import { RawWebSocket } from "../support/raw_websocket.ts";
import { inScratchDirectory } from "../support/scratch_directory.ts";
import { runCli, TestServer } from "../support/test_server.ts";
import { connectTls, missingTls, tlsFlags } from "../support/test_tls.ts";
import { until } from "../support/until.ts";

const MIB = 1024 * 1024;
const LISTEN = "wss://127.0.0.1:0";
const hasOpenssl = areInstalled(["openssl"], "certificates that are replaced");
const NO_TLS = await missingTls();

/** Skipped, under a name that says why, where the server cannot serve TLS. */
function withTls(name: string, fn: () => Promise<unknown>, needed = true): void {
  const ignore = NO_TLS !== null || !needed;
  Deno.test({ name: NO_TLS === null ? name : `${name} (SKIPPED: ${NO_TLS})`, ignore, fn: async () => void await fn() });
}

const status = (id: number) => JSON.stringify({ id, method: "environment/status" });

async function onTlsServer(
  args: readonly string[],
  test: (server: TestServer, directory: string) => Promise<void>,
): Promise<string> {
  let log = "";
  await inScratchDirectory(async (directory) => {
    const server = await TestServer.start({ listen: LISTEN, args: [...tlsFlags(directory), ...args] });
    {
      await using _server = server;
      await test(server, directory);
    }
    log = await server.log;
  });
  return log;
}

withTls("a session over wss runs a process, and is resumed after a cut", async () => {
  await onTlsServer([], async (server) => {
    assert.match(server.url, /^wss:\/\/127\.0\.0\.1:\d+$/);
    const socket = await RawWebSocket.connect(server.url);
    const { sessionId } = await socket.handshake();
    const params = { processId: "p", argv: ["cat"], cwd: "/tmp", env: {}, tty: false, pipeStdin: true };
    await socket.sendText(JSON.stringify({ id: 1, method: "process/start", params }));
    await socket.readUntil(({ id }) => id === 1);
    socket.drop();

    using again = await RawWebSocket.connect(server.url);
    assert.equal((await again.handshake({ resumeSessionId: sessionId })).sessionId, sessionId);
    const write = { processId: "p", chunk: btoa("hello"), writeId: "w" };
    await again.sendText(JSON.stringify({ id: 2, method: "process/write", params: write }));
    const { params: output } = await again.readUntil(({ method }) => method === "process/output");
    assert.equal(atob(output.chunk), "hello");
  });
});

withTls("over wss a token is asked for as without TLS", async () => {
  await onTlsServer(["--ws-auth", "url-token"], async (server) => {
    const { origin, searchParams } = new URL(server.url.replace("wss:", "https:"));
    const bare = origin.replace("https:", "wss:");
    await assert.rejects(RawWebSocket.connect(bare), /401/);
    (await RawWebSocket.connect(server.url)).drop();
    (await RawWebSocket.connect(bare, { Authorization: `Bearer ${searchParams.get("token")}` })).drop();
    await assert.rejects(RawWebSocket.connect(server.url, { Origin: "https://example.com" }), /403/);
  });
});

withTls("over wss frames have the same limits, and large messages arrive whole both ways", async () => {
  await onTlsServer([], (server, directory) =>
    (async () => {
      const content = crypto.getRandomValues(new Uint8Array(65536));
      const bytes = new Uint8Array(24 * MIB);
      for (let at = 0; at < bytes.length; at += content.length) bytes.set(content, at);
      bytes.set([1, 2, 3], bytes.length - 3);
      await Deno.writeFile(`${directory}/large`, bytes);
      using socket = await RawWebSocket.connect(server.url);
      await socket.handshake();
      await socket.sendText(JSON.stringify({ id: 1, method: "fs/readFile", params: { path: `${directory}/large` } }));
      const { result } = await socket.readUntil(({ id }) => id === 1);
      assert.ok(result.dataBase64 === bytes.toBase64(), "the file is read as it is");

      const part = bytes.subarray(0, 11 * MIB);
      const params = { path: `${directory}/copy`, dataBase64: part.toBase64() };
      await socket.sendText(JSON.stringify({ id: 2, method: "fs/writeFile", params }));
      assert.deepEqual((await socket.readUntil(({ id }) => id === 2)).error, undefined);
      assert.ok(
        (await Deno.readFile(`${directory}/copy`)).toBase64() === part.toBase64(),
        "and written as it was sent",
      );

      await socket.sendFrame(OPCODE.text, new Uint8Array(17 * MIB)).catch(
        () => {/* It may close before all is sent. */},
      );
      for (let frame = await socket.readFrame(); frame !== null; frame = await socket.readFrame()) {
        assert.notEqual(frame.opcode, OPCODE.text);
      }
    })());
});

withTls("over wss a flood whose reader has stalled costs little, and its children are paused", async () => {
  await onTlsServer(["--log-level", "debug"], async (server) => {
    using other = await RawWebSocket.connect(server.url);
    await other.handshake();
    // What the server loads behind its first client, and compiles for its first flood, is not what a stalled reader
    // costs.
    await server.logged("ready for every request");
    using warm = await Flood.start(server.url);
    await warm.end();
    using flood = await Flood.start(server.url);
    const beforeMb = residentMb(server.pid);
    for (let id = 1; id <= 2000; id++) {
      await other.sendText(status(id));
      assert.deepEqual(await other.readMessage(), { id, result: { status: "ready" } });
    }
    const growthMb = residentMb(server.pid) - beforeMb;
    assert.ok(growthMb < 48, `resident memory grew by ${growthMb.toFixed(1)} MB`);
    await flood.end();
  });
});

withTls("a peer that does not read gives up its descriptor when its connection ends, although it stays", async () => {
  await onTlsServer(["--ping-interval-ms", "50"], async (server) => {
    using stuck = await RawWebSocket.connect(server.url);
    await stuck.handshake();
    const params = { processId: "p", argv: ["yes"], cwd: "/", env: { PATH: "/usr/bin:/bin" }, tty: false };
    await stuck.sendText(JSON.stringify({ id: 1, method: "process/start", params }));
    await stuck.readUntil(({ id }) => id === 1);
    const before = descriptorCount(server.pid);
    // It answers no ping, so the connection is ended, with megabytes on their way that nobody reads.
    await server.logged("end=silent");
    await until(() => descriptorCount(server.pid) < before, () => `${descriptorCount(server.pid)} against ${before}`);
  });
});

withTls("peers that stay silent, speak plain HTTP, stop in the handshake or send noise hold nobody up", async () => {
  const log = await onTlsServer(["--log-level", "debug"], async (server) => {
    // A first connection, and the warm-up, open what stays open.
    using socket = await RawWebSocket.connect(server.url);
    await socket.handshake();
    await server.logged("ready for every request");
    const before = descriptorCount(server.pid);
    const peers: Deno.Conn[] = [];
    const hello = await clientHello();
    for (let i = 0; i < 20; i++) {
      const silent = await Deno.connect({ port: server.port });
      const half = await Deno.connect({ port: server.port });
      await half.write(hello);
      peers.push(silent, half);
    }
    using other = await RawWebSocket.connect(server.url);
    await other.handshake();
    other.drop();

    const plain = await Deno.connect({ port: server.port });
    await plain.write(new TextEncoder().encode("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
    const answer = await new Response(plain.readable).text();
    assert.match(answer, /^HTTP\/1\.1 400 .*connect with wss:\/\/$/s);
    const noise = await Deno.connect({ port: server.port });
    await noise.write(crypto.getRandomValues(new Uint8Array(256)).fill(0x16, 0, 1));
    await new Response(noise.readable).arrayBuffer();
    const binary = await Deno.connect({ port: server.port });
    await binary.write(Uint8Array.of(0x80, 1, 2));
    await new Response(binary.readable).arrayBuffer().catch(() => {/* A reset will do. */});

    for (const peer of peers) peer.close();
    await until(
      () => descriptorCount(server.pid) <= before,
      () => `${descriptorCount(server.pid)} against ${before}`,
    );
    await socket.sendText(status(1));
    assert.deepEqual(await socket.readMessage(), { id: 1, result: { status: "ready" } });
  });
  assert.match(log, /WARN {2}request refused .*TLS handshake failed: the peer speaks plain HTTP/);
});

withTls("the log says why a silent peer was dropped: too late, or to make room", async () => {
  // One peer stays alone until its time is over; then more come than may wait.
  const log = await onTlsServer([], async (server) => {
    using _slow = await Deno.connect({ port: server.port });
    await server.logged("not complete within 10 s");
    const crowd: Deno.Conn[] = [];
    for (let i = 0; i <= MAX_WAITING_CONNECTIONS; i++) crowd.push(await Deno.connect({ port: server.port }));
    await server.logged("too many connections wait");
    for (const peer of crowd) peer.close();
  });
  assert.doesNotMatch(log, /TLS handshake failed: socket was closed/);
});

withTls(
  "SIGHUP reads certificate and key again: new connections get them, open ones stay; unusable files change nothing",
  () =>
    inScratchDirectory(async (directory) => {
      const first = await makeCertificate(directory, "first");
      const second = await makeCertificate(directory, "second");
      const certFile = `${directory}/live.pem`;
      const keyFile = `${directory}/live.key`;
      const install = (from: { certFile: string; keyFile: string }) => {
        Deno.copyFileSync(from.certFile, certFile);
        Deno.copyFileSync(from.keyFile, keyFile);
        Deno.chmodSync(keyFile, 0o600);
      };
      install(first);
      const args = ["--tls-cert", certFile, "--tls-key", keyFile];
      const server = await TestServer.start({ listen: LISTEN, args });
      {
        await using _server = server;
        const serves = (caFile: string) => connectTls(server.port, caFile).then((c) => (c.close(), true), () => false);
        const old = await connectTls(server.port, first.certFile);
        const request = "GET /readyz HTTP/1.1\r\nHost: localhost\r\n";
        await old.write(new TextEncoder().encode(request));

        install(second);
        assert.equal(await serves(second.certFile), false, "not before it is told");
        server.kill("SIGHUP");
        await server.logged("the TLS certificate was read again");
        assert.equal(await serves(second.certFile), true);
        assert.equal(await serves(first.certFile), false);
        await old.write(new TextEncoder().encode("\r\n"));
        assert.match(await new Response(old.readable).text(), /^HTTP\/1\.1 200 /);

        Deno.writeTextFileSync(certFile, "not a certificate");
        server.kill("SIGHUP");
        await server.logged("does not hold a certificate");
        assert.equal(await serves(second.certFile), true);
        install(first);
        Deno.copyFileSync(second.keyFile, keyFile);
        server.kill("SIGHUP");
        await server.logged("is not the key of");
        assert.equal(await serves(second.certFile), true);
        install(first);
        server.kill("SIGHUP");
        await server.logged("the TLS certificate was read again", 2);
        assert.equal(await serves(first.certFile), true);
      }
    }),
  hasOpenssl,
);

withTls(
  "files that cannot be used for TLS are refused at the start, by name",
  () =>
    inScratchDirectory(async (directory) => {
      const made = await makeCertificate(directory, "made");
      const other = await makeCertificate(directory, "other");
      await Deno.writeTextFile(`${directory}/empty`, "", { mode: 0o600 });
      await Deno.copyFile(made.keyFile, `${directory}/open.key`);
      await Deno.chmod(`${directory}/open.key`, 0o644);
      const cases: [string, string, RegExp][] = [
        [
          made.certFile,
          `${directory}/open.key`,
          /--tls-key ".*open\.key" is open to others \(mode 644\): set its mode to 600/,
        ],
        [made.certFile, other.keyFile, /--tls-key ".*other\.key" is not the key of --tls-cert ".*made\.pem"/],
        [made.certFile, `${directory}/empty`, /--tls-key ".*empty" does not hold a private key/],
        [`${directory}/empty`, made.keyFile, /--tls-cert ".*empty" does not hold a certificate/],
        [`${directory}/none`, made.keyFile, /cannot read --tls-cert ".*none": No such file/],
        [made.certFile, directory, /cannot read --tls-key ".*": not a regular file/],
      ];
      for (const [cert, key, message] of cases) {
        const { code, stdout, stderr } = await runCli(["--listen", LISTEN, "--tls-cert", cert, "--tls-key", key]);
        assert.deepEqual([code, stdout], [1, ""], stderr);
        assert.match(stderr, message);
        assert.doesNotMatch(stderr, /BEGIN/);
      }
    }),
  hasOpenssl,
);

/** The first bytes of a client of TLS, taken from a real one. */
async function clientHello(): Promise<Uint8Array> {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const client = await Deno.connectTls({ hostname: "127.0.0.1", port: (listener.addr as Deno.NetAddr).port });
  const shaking = client.handshake().catch(() => {/* Nobody answers it. */});
  const conn = await listener.accept();
  const buffer = new Uint8Array(4096);
  const count = await conn.read(buffer);
  conn.close();
  listener.close();
  await shaking;
  client.close();
  return buffer.slice(0, count!);
}
