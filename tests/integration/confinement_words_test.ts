/** A request that asks for confinement is confined or refused, whatever words it uses, seen from a real socket. */

import assert from "node:assert/strict";
import { type Client, RpcError } from "../support/rpc_client.ts";
import { NO_SANDBOX } from "../support/sandbox_host.ts";
import { inScratchDirectory } from "../support/scratch_directory.ts";
import { TestServer, type TestServerOptions } from "../support/test_server.ts";

function sandboxTest(
  name: string,
  fn: (client: Client, scratch: string, server: TestServer) => Promise<void>,
  options: TestServerOptions = {},
): void {
  Deno.test({
    name: NO_SANDBOX === null ? name : `${name} (SKIPPED: ${NO_SANDBOX})`,
    ignore: NO_SANDBOX !== null,
    async fn() {
      await using server = await TestServer.start(options);
      await using client = await server.connect();
      await inScratchDirectory((scratch) => fn(client, scratch, server));
    },
  });
}

async function refusal(call: Promise<unknown>): Promise<{ code: number; message: string }> {
  try {
    const answer = await call;
    assert.fail(`answered: ${JSON.stringify(answer)}`);
  } catch (error) {
    if (!(error instanceof RpcError)) throw error;
    return { code: error.code, message: error.message };
  }
}

// deno-lint-ignore no-explicit-any
type Json = any;

let processes = 0;

async function run(client: Client, text: string, fields: Json) {
  const processId = `p${++processes}`;
  const command = { argv: ["/bin/sh", "-c", text], cwd: "/", env: { PATH: "/usr/bin:/bin" } };
  const io = { type: "pipe", stdin: "closed" } as const;
  const { sandboxType } = await client.call("process/start", { processId, ...command, io, ...fields });
  await client.call("process/wait", { processId });
  const { exitCode, sandboxDenied } = await client.call("process/read", { processId });
  return { exitCode, sandboxDenied, sandboxType };
}

sandboxTest("sandboxPolicy beside the path of a file request confines it", async (client, scratch) => {
  const outside = `${scratch}/outside`;
  const write = (path: string, fields: Json) => client.call("fs/writeFile", { path, dataBase64: "eA==", ...fields });
  for (const type of ["readOnly", "ReadOnly", "read-only", "read_only"]) {
    assert.deepEqual(await refusal(write(outside, { sandboxPolicy: { type } })), {
      code: -32603,
      message: "Read-only file system (os error 30)",
    });
  }
  Deno.mkdirSync(`${scratch}/ws`);
  const sandboxPolicy = { type: "workspaceWrite", excludeSlashTmp: true, excludeTmpdirEnvVar: true };
  const place = { sandboxPolicy, cwd: `${scratch}/ws` };
  assert.equal((await refusal(write(outside, place))).message, "Read-only file system (os error 30)");
  assert.deepEqual([...Deno.readDirSync(scratch)].map(({ name }) => name), ["ws"]);
  await write(`${scratch}/ws/inside`, place);
  assert.equal(Deno.readTextFileSync(`${scratch}/ws/inside`), "x");
  assert.deepEqual(await refusal(write(outside, { sandboxPolicy })), {
    code: -32602,
    message: "sandbox policy `workspace-write` requires cwd",
  });
  await write(outside, { sandboxPolicy: { type: "DangerFullAccess" } });
  assert.equal(Deno.readTextFileSync(outside), "x");
});

sandboxTest(
  "sandboxPolicy beside the command of a process confines it, at the command's directory",
  async (client, scratch) => {
    const touch = (name: string, fields: Json) => run(client, `echo x > '${scratch}/${name}'`, fields);
    const denied = { exitCode: 2, sandboxDenied: true, sandboxType: "linuxSeccomp" };
    assert.deepEqual(await touch("a", { sandboxPolicy: { type: "readOnly" } }), denied);
    const workspace = { type: "workspace-write", exclude_slash_tmp: true, excludeTmpdirEnvVar: true };
    assert.deepEqual(await touch("a", { sandboxPolicy: workspace, cwd: "/usr" }), denied);
    assert.deepEqual([...Deno.readDirSync(scratch)], []);
    assert.equal((await touch("a", { sandboxPolicy: workspace, cwd: scratch })).exitCode, 0);
  },
);

sandboxTest("words that are not understood are refused by name, and nothing happens", async (client, scratch) => {
  const path = `${scratch}/f`;
  const policy = { type: "readOnly" };
  const words = [
    ...["sandbox_policy", "sandboxProfile", "sandbox_profile", "sandboxMode", "sandboxContext", "Sandbox"],
    ...["permissionProfile", "permission_profile", "permissions"],
  ];
  for (const word of words) {
    const written = await refusal(client.call("fs/writeFile", { path, dataBase64: "eA==", [word]: policy } as Json));
    assert.equal(written.code, -32602);
    assert.ok(written.message.includes(`\`${word}\``), written.message);
    const started = await refusal(run(client, `echo x > '${path}'`, { [word]: policy }));
    assert.equal(started.code, -32602);
    assert.ok(started.message.includes(`\`${word}\``), started.message);
  }
  const both = { sandbox: { sandboxPolicy: policy }, sandboxPolicy: { type: "danger-full-access" } };
  assert.equal((await refusal(client.call("fs/writeFile", { path, dataBase64: "eA==", ...both }))).code, -32602);
  assert.equal((await refusal(run(client, `echo x > '${path}'`, both))).code, -32602);
  assert.deepEqual([...Deno.readDirSync(scratch)], []);
});

sandboxTest("a policy that confines nothing never gives sandboxDenied", async (client) => {
  const complain = "echo 'Permission denied: sandbox'; exit 1";
  const profile = (permissions: Json) => ({ sandbox: { permissions, windowsSandboxLevel: "disabled" } });
  const cases: [Json, boolean][] = [
    [{ sandboxPolicy: { type: "danger-full-access" } }, false],
    [{ sandbox: { sandboxPolicy: { type: "DangerFullAccess" } } }, false],
    [profile({ type: "disabled" }), false],
    [profile({ type: "external", network: "enabled" }), false],
    [profile({ type: "external", network: "restricted" }), false],
    [profile({ type: "managed", file_system: { type: "unrestricted" }, network: "enabled" }), false],
    [{ sandboxPolicy: { type: "read-only" } }, true],
  ];
  for (const [fields, sandboxDenied] of cases) {
    const expected = { exitCode: 1, sandboxDenied, sandboxType: "linuxSeccomp" };
    assert.deepEqual(await run(client, complain, fields), expected, JSON.stringify(fields));
  }
});

Deno.test("a start that misses something has one answer, and the log distinguishes directory, program and interpreter", async () => {
  const confined = NO_SANDBOX === null ? [{ sandboxPolicy: { type: "read-only" } }] : [];
  const script = await Deno.makeTempFile();
  await Deno.writeTextFile(script, "#!/no/such/interpreter\n");
  await Deno.chmod(script, 0o755);
  const missing = [
    { cwd: "/no/such/directory" },
    { argv: ["no-such-program"] },
    { argv: ["/no/program"] },
    { argv: [script] },
  ];
  let log: Promise<string>;
  try {
    await using server = await TestServer.start({ args: ["--log", "json", "--log-level", "debug"] });
    log = server.log;
    await using client = await server.connect();
    for (const fields of [{}, ...confined]) {
      for (const command of missing) {
        assert.deepEqual(await refusal(run(client, "", { ...fields, ...command })), {
          code: -32603,
          message: "No such file or directory (os error 2)",
        });
      }
    }
  } finally {
    await Deno.remove(script);
  }
  const lines = (await log).trim().split("\n").map((line) => JSON.parse(line));
  const details = lines.filter(({ message }) => message === "request refused").map(({ detail }) => detail);
  assert.equal(details.length, missing.length * (1 + confined.length));
  for (let at = 0; at < details.length; at += missing.length) {
    assert.match(details[at], /working directory \/no\/such\/directory/);
    assert.match(details[at + 1], /program "no-such-program"/);
    assert.match(details[at + 2], /program "\/no\/program"/);
    assert.match(details[at + 3], /the interpreter of .*program.* is missing/);
  }
});

sandboxTest(
  "unknown members of a profile are ignored, and logged once as a warning",
  async (client, _scratch, server) => {
    const entries = [{ path: { type: "special", value: { kind: "root" } }, access: "read", tag: "x" }];
    const permissions = {
      type: "managed",
      file_system: { type: "restricted", entries },
      network: "restricted",
      more: 1,
    };
    for (let i = 0; i < 3; i++) {
      await client.call("fs/getMetadata", { path: "/", sandbox: { permissions, windowsSandboxLevel: "disabled" } });
    }
    server.kill("SIGTERM");
    const members = (await server.log).trim().split("\n").map((line) => JSON.parse(line))
      .filter(({ message }) => message.startsWith("an unknown member")).map(({ level, member }) => [level, member]);
    assert.deepEqual(members, [["warn", "permissions.file_system.entries.tag"], ["warn", "permissions.more"]]);
  },
  { args: ["--log", "json"] },
);
