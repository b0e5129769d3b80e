/** Sockets that show nothing: they have a pool of their own, take nobody's place, and leave descriptors for the others. */

import assert from "node:assert/strict";
import { descriptorCount } from "../support/proc.ts";
import { connect } from "../support/rpc_client.ts";
import { inScratchDirectory } from "../support/scratch_directory.ts";
import { serverCommand, TestServer } from "../support/test_server.ts";
import { connectTls, missingTls, tlsFlags } from "../support/test_tls.ts";
import { until } from "../support/until.ts";

const IDLE_SOCKETS = 2000;
const TOKEN = "a-token-of-at-least-sixteen-bytes";
/** Besides those that wait: the program's own, a listener, a few clients and their children. */
const OTHER_DESCRIPTORS = 100;
const MAX_WAITING = 256;
/** Ten seconds for a head, and room for a busy machine. */
const MAX_STAY_MS = 40_000;

async function openSockets(port: number, count: number): Promise<Deno.Conn[]> {
  const sockets: Deno.Conn[] = [];
  for (let i = 0; i < count; i++) sockets.push(await Deno.connect({ hostname: "127.0.0.1", port }));
  return sockets;
}

async function tokenFlags(directory: string): Promise<string[]> {
  await Deno.writeTextFile(`${directory}/token`, TOKEN, { mode: 0o600 });
  return ["--ws-auth", "capability-token", "--ws-token-file", `${directory}/token`];
}

Deno.test(`${IDLE_SOCKETS} idle sockets without a token: clients with one get in, and the sockets are gone in time`, () =>
  inScratchDirectory(async (directory) => {
    await using server = await TestServer.start({ args: await tokenFlags(directory) });
    await using before = await server.connect({ token: TOKEN });
    const sockets = await openSockets(server.port, IDLE_SOCKETS);
    const count = descriptorCount(server.pid);
    assert.ok(count < MAX_WAITING + OTHER_DESCRIPTORS, `${count} descriptors are open`);
    for (let i = 0; i < 20; i++) {
      await using client = await server.connect({ token: TOKEN });
      assert.deepEqual(await client.call("environment/status", null), { status: "ready" });
    }
    assert.deepEqual(await before.call("environment/status", null), { status: "ready" });
    const health = await fetch(`http://127.0.0.1:${server.port}/readyz`);
    assert.deepEqual([health.status, await health.text()], [200, ""]);
    const isOver = () => descriptorCount(server.pid) < OTHER_DESCRIPTORS;
    await until(isOver, () => `${descriptorCount(server.pid)} descriptors are open`, MAX_STAY_MS);
    for (const socket of sockets) socket.close();
  }));

const NO_TLS = await missingTls();

Deno.test({
  name: `${IDLE_SOCKETS} sockets that stay silent in TLS${NO_TLS === null ? "" : ` (SKIPPED: ${NO_TLS})`}`,
  ignore: NO_TLS !== null,
  fn: () =>
    inScratchDirectory(async (directory) => {
      const args = [...tlsFlags(directory), ...await tokenFlags(directory)];
      await using server = await TestServer.start({ listen: "wss://127.0.0.1:0", args });
      const sockets = await openSockets(server.port, IDLE_SOCKETS / 2);
      // Half of them have begun a handshake that they never end.
      const half = await openSockets(server.port, IDLE_SOCKETS / 2);
      for (const socket of half) {
        await socket.write(Uint8Array.of(0x16, 3, 1, 2, 0)).catch(() => {/* It had to leave. */});
      }
      const count = descriptorCount(server.pid);
      assert.ok(count < MAX_WAITING + OTHER_DESCRIPTORS, `${count} descriptors are open`);
      for (let i = 0; i < 20; i++) {
        const conn = await connectTls(server.port);
        await conn.write(new TextEncoder().encode("GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n"));
        assert.match(await new Response(conn.readable).text(), /^HTTP\/1\.1 200 /);
      }
      const isOver = () => descriptorCount(server.pid) < OTHER_DESCRIPTORS;
      await until(isOver, () => `${descriptorCount(server.pid)} descriptors are open`, MAX_STAY_MS);
      for (const socket of [...sockets, ...half]) socket.close();
    }),
});

Deno.test("at the limit of descriptors sessions go on: they start processes and work on files, and new ones get in", () =>
  inScratchDirectory(async (directory) => {
    const { program, args } = serverCommand();
    const command = ["/bin/sh", "-c", 'ulimit -n 256; exec "$@"', "sh", program, ...args];
    await using server = await TestServer.start({ command, args: await tokenFlags(directory) });
    await using client = await server.connect({ token: TOKEN });
    const sockets = await openSockets(server.port, IDLE_SOCKETS);
    await Deno.writeTextFile(`${directory}/file`, "content");
    for (let i = 0; i < 20; i++) {
      const processId = `p${i}`;
      const events = client.follow(processId);
      await client.call("process/start", {
        processId,
        argv: ["/bin/echo", "hello"],
        cwd: "/",
        env: {},
        tty: false,
      });
      const methods: string[] = [];
      for await (const { method } of events) methods.push(method);
      assert.ok(methods.includes("process/output"), methods.join(" "));
      const { dataBase64 } = await client.call("fs/readFile", { path: `${directory}/file` });
      assert.equal(atob(dataBase64), "content");
      await using other = await connect(server.url, { clientName: "other", token: TOKEN });
      assert.deepEqual(await other.call("environment/status", null), { status: "ready" });
    }
    for (const socket of sockets) socket.close();
  }));

Deno.test("without a token, connections leave descriptors for what they are there for", async () => {
  const { program, args } = serverCommand();
  const command = ["/bin/sh", "-c", 'ulimit -n 256; exec "$@"', "sh", program, ...args];
  await using server = await TestServer.start({ command });
  const clients = [];
  for (;;) {
    const client = await server.connect().catch((error: Error) => error);
    if (client instanceof Error) {
      assert.match(client.message, /503/);
      break;
    }
    clients.push(client);
  }
  assert.equal(clients.length, 128);
  const [first] = clients;
  const start = { processId: "p", argv: ["/bin/true"], cwd: "/", env: {}, tty: false };
  await first!.call("process/start", start);
  await Promise.all(clients.map((client) => client.close()));
  await using again = await server.connect();
  assert.deepEqual(await again.call("environment/status", null), { status: "ready" });
});

/** Of the processor, while there is nothing to be done but to wait for a free descriptor. */
const MAX_IDLE_SHARE = 0.5;

/** Seconds of the processor that a process has used. */
function cpuSeconds(pid: number): number {
  const stat = Deno.readTextFileSync(`/proc/${pid}/stat`);
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

Deno.test("without a descriptor for the next connection the others go on, nothing spins, and it is served when there is one", () =>
  inScratchDirectory(async (directory) => {
    const { program, args } = serverCommand();
    const command = ["/bin/sh", "-c", 'ulimit -n 128; exec "$@"', "sh", program, ...args];
    const server = await TestServer.start({ command });
    {
      await using _server = server;
      await using client = await server.connect();
      await using second = await server.connect();
      await Deno.writeTextFile(`${directory}/file`, "content");
      const handles: { client: typeof client; handleId: string }[] = [];
      const openUntilRefused = async (owner: typeof client): Promise<boolean> => {
        for (let i = 0; i < 120; i++) {
          const handleId = `h${handles.length}`;
          const opened = await owner.call("fs/open", { path: `${directory}/file`, handleId })
            .then(() => true, () => false);
          if (!opened) return true;
          handles.push({ client: owner, handleId });
        }
        return false;
      };
      assert.ok(await openUntilRefused(client) || await openUntilRefused(second), "the limit is reached");
      const waiting = fetch(`http://127.0.0.1:${server.port}/readyz`);
      await server.logged("cannot accept connections");
      const [beforeSeconds, beforeMs] = [cpuSeconds(server.pid), performance.now()];
      for (let i = 0; i < 20; i++) {
        assert.deepEqual(await client.call("environment/status", null), { status: "ready" });
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
      const share = (cpuSeconds(server.pid) - beforeSeconds) / ((performance.now() - beforeMs) / 1000);
      assert.ok(share < MAX_IDLE_SHARE, `${(100 * share).toFixed()} % of the processor`);
      for (const { client, handleId } of handles) await client.call("fs/close", { handleId });
      const answer = await waiting;
      assert.deepEqual([answer.status, await answer.text()], [200, ""]);
    }
    assert.equal((await server.log).split("cannot accept connections").length, 2);
  }));
