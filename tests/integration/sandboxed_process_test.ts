/** What a user is promised about sandboxed processes, seen from the other end of a real socket. */

import assert from "node:assert/strict";
import type { ProcessExitedNotification } from "../../src/protocol/process.ts";
import { areInstalled } from "../support/installed.ts";
import { type Client, RpcError } from "../support/rpc_client.ts";
import { NO_LISTENER, NO_SANDBOX } from "../support/sandbox_host.ts";
import { TestServer } from "../support/test_server.ts";

/** Why what was refused cannot be tested here; null when it can. */
const NO_DENIALS = NO_LISTENER ?? (areInstalled(["perl"], "what a sandbox refuses of the network") ? null : "no perl");

function sandboxTest(
  name: string,
  fn: (server: TestServer) => Promise<void>,
  skip: { because: string | null } = { because: null },
): void {
  const missing = NO_SANDBOX ?? skip.because;
  Deno.test({
    name: missing === null ? name : `${name} (SKIPPED: ${missing})`,
    ignore: missing !== null,
    async fn() {
      await using server = await TestServer.start();
      await fn(server);
    },
  });
}

function sandbox(network: "restricted" | "enabled") {
  const entries = [{ path: { type: "special", value: { kind: "root" } }, access: "read" }];
  return {
    permissions: { type: "managed", file_system: { type: "restricted", entries }, network },
    windowsSandboxLevel: "disabled",
  };
}

function script(text: string, fields: Record<string, unknown>) {
  return {
    processId: "p",
    argv: ["/bin/bash", "-c", text],
    cwd: "/",
    env: { PATH: "/usr/bin:/bin" },
    io: { type: "pipe", stdin: "closed" } as const,
    ...fields,
  };
}

async function run(client: Client, text: string, fields: Record<string, unknown>) {
  const stream = client.follow("p");
  await client.call("process/start", script(text, fields));
  let exited: ProcessExitedNotification | null = null;
  for await (const { method, params } of stream) if (method === "process/exited") exited = params;
  return { exited, read: await client.call("process/read", { processId: "p", afterSeq: 1000 }) };
}

/** Fails without a word: there is nothing to guess by. */
const CONNECT_SILENTLY = "exec 2>/dev/null; exec 3<>/dev/tcp/127.0.0.1/1";

sandboxTest(
  "a refused network call is reported even if the program prints nothing, with details for clients that asked",
  async (server) => {
    const program = await Deno.realPath("/bin/bash");
    const networkDenials = [{ call: "socket(AF_INET, SOCK_STREAM)", program }];
    await using asking = await server.connect({ optionalFields: ["networkDenials"] });
    const { exited, read } = await run(asking, CONNECT_SILENTLY, { sandbox: sandbox("restricted") });
    assert.deepEqual(exited, { processId: "p", seq: 1, exitCode: 1, sandboxDenied: true, networkDenials });
    assert.deepEqual([read.sandboxDenied, read.networkDenials], [true, networkDenials]);
    const waited = await asking.call("process/wait", { processId: "p" });
    assert.deepEqual(waited.networkDenials, networkDenials);

    await using other = await server.connect();
    const silent = await run(other, CONNECT_SILENTLY, { sandbox: sandbox("restricted") });
    assert.deepEqual(silent.exited, { processId: "p", seq: 1, exitCode: 1, sandboxDenied: true });
    assert.ok(!("networkDenials" in silent.read));
  },
  { because: NO_DENIALS },
);

sandboxTest(
  "the refused call of a silent failure decides whether it was denied, and output counts as usual",
  async (server) => {
    const connect = (path: string) =>
      `use Socket; socket(my $s, AF_UNIX, SOCK_STREAM, 0); connect($s, pack_sockaddr_un("${path}")) or exit 3`;
    const socket = (kind: string) => `socket(my $s, ${kind}, 0) or exit 3`;
    const cases: [program: string, call: string | null, sandboxDenied: boolean][] = [
      [socket("2, 1"), "socket(AF_INET, SOCK_STREAM)", true],
      [socket("2, 2"), "socket(AF_INET, SOCK_DGRAM)", true],
      [socket("40, 1"), "socket(AF_VSOCK, SOCK_STREAM)", true],
      [socket("17, 3"), "socket(AF_PACKET, SOCK_RAW)", true],
      [connect("/run/docker.sock"), "connect(/run/docker.sock)", true],
      // Programs try these for no purpose of their own.
      [socket("10, 1"), "socket(AF_INET6, SOCK_STREAM)", false],
      [socket("16, 3"), "socket(AF_NETLINK, SOCK_RAW)", false],
      [connect("/var/run/nscd/socket"), null, false],
      ["exit 3", null, false],
      ["print 'Permission denied'; exit 3", null, true],
    ];
    for (const [program, call, sandboxDenied] of cases) {
      await using client = await server.connect({ optionalFields: ["networkDenials"] });
      const { exited } = await run(client, "", { argv: ["perl", "-e", program], sandbox: sandbox("restricted") });
      const calls = exited?.networkDenials?.map(({ call }) => call);
      const expected = [3, call === null ? [] : [call], sandboxDenied];
      assert.deepEqual([exited?.exitCode, calls, exited?.sandboxDenied], expected, program);
    }
  },
  { because: NO_DENIALS },
);

sandboxTest("no refusals and unknown refusals are distinguished", async (server) => {
  const cases = [
    [{ sandbox: sandbox("restricted") }, []],
    [{ sandbox: sandbox("enabled") }, null],
    [{ sandbox: null }, null],
  ] as const;
  for (const [fields, expected] of cases) {
    await using client = await server.connect({ optionalFields: ["networkDenials"] });
    const { exited } = await run(client, "exit 1", fields);
    assert.deepEqual([exited?.sandboxDenied, exited?.networkDenials], [false, expected]);
  }
}, { because: NO_DENIALS });

sandboxTest("a managed network, for which there is no proxy, is never an open one", async (server) => {
  await using client = await server.connect();
  const enforced = { enforceManagedNetwork: true };
  for (
    const open of [
      sandbox("enabled"),
      { permissions: { type: "disabled" }, windowsSandboxLevel: "disabled" },
      { permissions: { type: "external", network: "enabled" }, windowsSandboxLevel: "disabled" },
      { sandboxPolicy: { type: "danger-full-access" } },
      { sandboxPolicy: { type: "read-only", network_access: true }, cwd: "/" },
    ]
  ) {
    // Variables that name a proxy change nothing: a program need not heed them.
    for (const env of [{}, { HTTPS_PROXY: "http://127.0.0.1:3128" }]) {
      await assert.rejects(
        client.call("process/start", script("echo ran", { ...enforced, sandbox: open, env })),
        (error) => error instanceof RpcError && error.code === -32600 && /managed network/.test(error.message),
      );
    }
  }
  // Without any network there is nothing to be managed, and the id is still free.
  const { exited } = await run(client, CONNECT_SILENTLY, { ...enforced, sandbox: sandbox("restricted") });
  assert.equal(exited?.exitCode, 1);
});

sandboxTest("a managed network has no effect without a sandbox object", async (server) => {
  await using client = await server.connect();
  const { exited } = await run(client, "exit 0", { enforceManagedNetwork: true, sandbox: null });
  assert.equal(exited?.exitCode, 0);
});
