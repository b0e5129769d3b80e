/** Attacks on a real server by the processes it runs: on its life, memory, descriptors, secrets and its own address. */

import assert from "node:assert/strict";
import { syscallNumber } from "../../src/launch/stub/syscalls.ts";
import { type Client, RpcError } from "../support/rpc_client.ts";
import type { Report, Step } from "../fixtures/hostile_program.ts";
import { NO_SANDBOX } from "../support/sandbox_host.ts";
import { inScratchDirectory } from "../support/scratch_directory.ts";
import { TestServer } from "../support/test_server.ts";
import { type Backend, BACKENDS, hostileArgv, IS_ROOT } from "./scene.ts";

const USER = IS_ROOT ? "root" : "unprivileged";
const SECRET = "attack-secret-of-the-server";

const READ_ONLY = {
  permissions: {
    type: "managed",
    file_system: {
      type: "restricted",
      entries: [{ path: { type: "special", value: { kind: "root" } }, access: "read" }],
    },
    network: "restricted",
  },
  windowsSandboxLevel: "disabled",
};

/** Policies that confine nothing but the network. */
const NETWORK_ONLY = [
  { permissions: { type: "external", network: "restricted" }, windowsSandboxLevel: "disabled" },
  {
    permissions: { type: "managed", file_system: { type: "unrestricted" }, network: "restricted" },
    windowsSandboxLevel: "disabled",
  },
] as const;

/** The least and the most that a confined process may do with files. */
const SANDBOXES = [READ_ONLY, ...NETWORK_ONLY];

interface ServerScene {
  readonly server: TestServer;
  readonly client: Client;
  /** Runs a program on the server, and returns its output. */
  run(argv: readonly string[], sandbox: unknown): Promise<{ output: string; exitCode: number | null }>;
  /** Has the hostile program make these calls. */
  hostile(steps: readonly Step[], sandbox: unknown): Promise<Report>;
}

function attackOnServer(name: string, attempt: (scene: ServerScene, directory: string) => Promise<void>): void {
  for (const backend of BACKENDS) {
    const title = `${USER}, ${backend}, a real server: ${name}`;
    Deno.test({
      name: NO_SANDBOX === null ? title : `${title} (SKIPPED: ${NO_SANDBOX})`,
      ignore: NO_SANDBOX !== null,
      fn: () => inScratchDirectory((directory) => withServer(backend, directory, attempt)),
    });
  }
}

async function withServer(
  backend: Backend,
  directory: string,
  attempt: (scene: ServerScene, directory: string) => Promise<void>,
): Promise<void> {
  await using server = await TestServer.start({ args: ["--sandbox", backend], env: { ATTACK_SECRET: SECRET } });
  const client = await server.connect();
  try {
    await attempt(new RunningServer(server, client), directory);
  } finally {
    await client.close();
  }
}

class RunningServer implements ServerScene {
  readonly server: TestServer;
  readonly client: Client;
  #started = 0;

  constructor(server: TestServer, client: Client) {
    this.server = server;
    this.client = client;
  }

  async run(argv: readonly string[], sandbox: unknown): Promise<{ output: string; exitCode: number | null }> {
    const processId = `attack-${++this.#started}`;
    const env = { PATH: "/usr/bin:/bin", DENO_DIR: "/dev/null", NO_COLOR: "1" };
    const events = this.client.follow(processId);
    await this.client.call("process/start", { processId, argv, cwd: "/", env, tty: false, sandbox } as never);
    const decoder = new TextDecoder();
    let output = "";
    let exitCode: number | null = null;
    for await (const { method, params } of events) {
      if (method === "process/output") output += decoder.decode(Uint8Array.fromBase64(params.chunk), { stream: true });
      if (method === "process/exited") exitCode = params.exitCode;
      if (method === "process/closed") break;
    }
    return { output, exitCode };
  }

  async hostile(steps: readonly Step[], sandbox: unknown): Promise<Report> {
    const { output } = await this.run(hostileArgv(steps), sandbox);
    return JSON.parse(output);
  }
}

/** Where there is room in a process's memory that nobody uses: the lowest end of its main stack. */
function unusedAddress(pid: number): number {
  const stack = /^([0-9a-f]+)-.* \[stack\]$/m.exec(Deno.readTextFileSync(`/proc/${pid}/maps`))?.[1];
  assert.ok(stack !== undefined);
  return parseInt(stack, 16);
}

/** With a stricter setting nobody traces what is not a child, sandbox or none. */
function tracingIsRestricted(): boolean {
  try {
    return Number(Deno.readTextFileSync("/proc/sys/kernel/yama/ptrace_scope")) > 0;
  } catch {
    return false; // A kernel without that setting.
  }
}

const PTRACE_SEIZE = 0x4206;
const RLIMIT_NICE = 13;
const O_RDWR = 2;

/** Each is harmless when it succeeds: nothing is changed, only that it could be is shown. */
function assaultsOn(pid: number, port: number): Readonly<Record<string, readonly Step[]>> {
  const byNumber = (name: Parameters<typeof syscallNumber>[0]) => syscallNumber(name, Deno.build.arch)!;
  const remote = { words: [unusedAddress(pid), 8] };
  const local = { words: [{ space: 8 }, 8] };
  const tracing: Record<string, readonly Step[]> = {
    "trace it": [["ptrace", PTRACE_SEIZE, pid, 0, 0]],
    "read its memory": [["process_vm_readv", pid, local, 1, remote, 1, 0]],
    "write its memory": [["process_vm_writev", pid, local, 1, remote, 1, 0]],
    "open its memory": [["open", `/proc/${pid}/mem`, O_RDWR]],
    "enter its root": [["open", `/proc/${pid}/root/`, 0]],
    "enter its directory": [["open", `/proc/${pid}/cwd/`, 0]],
    "open its output": [["open", `/proc/${pid}/fd/1`, 1]],
    "read its environment": [["open", `/proc/${pid}/environ`, 0]],
    "take its descriptor": [["pidfd_open", pid, 0], ["syscall", byNumber("pidfd_getfd"), { back: 1 }, 0, 0]],
  };
  return {
    "ask whether it can be killed": [["kill", pid, 0]],
    "ask that of its handle": [["pidfd_open", pid, 0], ["pidfd_send_signal", { back: 1 }, 0, 0, 0]],
    "limit it": [["prlimit64", pid, RLIMIT_NICE, { words: [0, 0] }, 0]],
    "slow it down": [["setpriority", 0, pid, 0]],
    "move it to some CPUs": [["sched_setaffinity", pid, 128, { bytes: Array.from({ length: 128 }, () => 0xff) }]],
    "call it": [
      ["socket", 2, 1, 0],
      ["connect", { back: 1 }, { bytes: [2, 0, port >> 8, port & 0xff, 127, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0] }, 16],
    ],
    "become the one the kernel ends first": [["open", `/proc/${pid}/oom_score_adj`, 1]],
    ...(tracingIsRestricted() ? {} : tracing),
  };
}

attackOnServer("a process has no hold on the server that runs it", async (scene) => {
  const { server } = scene;
  const assaults = assaultsOn(server.pid, server.port);
  const names = Object.keys(assaults);
  const outcomes = (report: Report) => {
    let last = -1;
    return names.map((name) => [name, report.results[last += assaults[name]!.length]] as const);
  };
  const steps = names.flatMap((name) => assaults[name]!);
  for (const [name, result] of outcomes(await scene.hostile(steps, null))) {
    assert.equal(typeof result, "number", `without a sandbox: ${name}: ${result}`);
  }
  for (const sandbox of SANDBOXES) {
    for (const [name, result] of outcomes(await scene.hostile(steps, sandbox))) {
      assert.equal(typeof result, "string", `${name} succeeded under ${JSON.stringify(sandbox.permissions)}`);
    }
  }
});

attackOnServer("a process that may write everywhere has no capability, and gets none", async (scene) => {
  const look = ["/bin/sh", "-c", "grep -E '^(Cap(Prm|Eff|Amb)|NoNewPrivs)' /proc/self/status"];
  if (IS_ROOT) assert.doesNotMatch((await scene.run(look, null)).output, /CapEff:\t0+$/m);
  for (const sandbox of NETWORK_ONLY) {
    const { output } = await scene.run(look, sandbox);
    assert.deepEqual(output.match(/\w+$/gm), ["0000000000000000", "0000000000000000", "0000000000000000", "1"]);
  }
});

attackOnServer(
  "a process that may write everywhere does so, but for the kernel's settings",
  async (scene, directory) => {
    const settings = "/proc/sys/kernel/core_pattern /proc/sys/kernel/hostname /sys/kernel/mm/*/* /sys/kernel/profiling";
    const script = `echo x > ${directory}/file && chmod 600 ${directory}/file && mkdir ${directory}/made && ` +
      `echo x > ${directory}/made/file && ln -s x ${directory}/link && echo x > /dev/null && : > /dev/shm/$$ && ` +
      `rm /dev/shm/$$ && for file in ${settings}; do (: >> $file) 2>/dev/null && echo $file; done; true`;
    const run = async (sandbox: unknown) => {
      const { output, exitCode } = await scene.run(["/bin/sh", "-c", script], sandbox);
      for (const name of ["made/file", "made", "file", "link"]) await Deno.remove(`${directory}/${name}`);
      return { output, exitCode };
    };
    const free = await run(null);
    if (IS_ROOT) assert.match(free.output, /core_pattern/);
    for (const sandbox of NETWORK_ONLY) assert.deepEqual(await run(sandbox), { output: "", exitCode: 0 });
  },
);

attackOnServer("a process cannot end the server that runs it", async (scene) => {
  const { server, client } = scene;
  const kill = ["/bin/sh", "-c", `kill -9 ${server.pid}`];
  for (const sandbox of SANDBOXES) {
    const confined = await scene.run(kill, sandbox);
    assert.notEqual(confined.exitCode, 0);
    assert.match(confined.output, /No such process|not permitted/);
  }
  // It is alive to be asked this, and then it is not.
  await assert.rejects(async () => {
    await scene.run(kill, null);
    await client.call("environment/info", {} as never);
  });
  assert.equal((await server.status).signal, "SIGKILL");
});

attackOnServer("no process finds the server's secrets in any environment", async (scene) => {
  const search = [
    "/bin/sh",
    "-c",
    `cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n' | grep -c '^ATTACK_SECRET='; env`,
  ];
  const free = await scene.run(search, null);
  assert.notEqual(free.output.split("\n")[0], "0");
  for (const sandbox of SANDBOXES) {
    const confined = await scene.run(search, sandbox);
    assert.equal(confined.output.split("\n")[0], "0", confined.output);
    assert.doesNotMatch(confined.output, new RegExp(SECRET));
  }
});

attackOnServer("what a process plants in the temporary directory is nothing the server reads", async (_, directory) => {
  // The runtime of a compiled program would take its code from there, had it not been built without.
  const planted = ["exec-server", "main", "deno"].map((name) => `${directory}/deno-compile-${name}.cache`);
  const LONG_AGO = new Date(0);
  for (const path of planted) {
    await Deno.writeTextFile(path, "evil");
    await Deno.utime(path, LONG_AGO, new Date());
  }
  // Whoever reads a file that has changed since it was last read leaves a trace.
  const areUnread = () => planted.map((path) => Deno.statSync(path).atime?.getTime() === LONG_AGO.getTime());
  await using server = await TestServer.start({ env: { TMPDIR: directory } });
  const client = await server.connect();
  assert.match((await new RunningServer(server, client).run(["/bin/sh", "-c", "echo ran"], READ_ONLY)).output, /ran/);
  await client.close();
  assert.deepEqual(areUnread(), [true, true, true]);
  assert.deepEqual(planted.map((path) => Deno.readTextFileSync(path)), ["evil", "evil", "evil"]);
  assert.deepEqual(areUnread(), [false, false, false], "this disk keeps no such traces");
});

attackOnServer("a refused sandbox runs nothing", async ({ client }, directory) => {
  const path = `${directory}/ran`;
  const write = (sandbox: unknown) =>
    client.call(
      "process/start",
      { processId: "p", argv: ["/bin/sh", "-c", `echo x > ${path}`], cwd: "/", env: {}, tty: false, sandbox } as never,
    );
  for (
    const sandbox of [{}, "none", { permissions: { type: "full" } }, { ...READ_ONLY, permissions: { type: "managed" } }]
  ) {
    await assert.rejects(write(sandbox), RpcError);
  }
  assert.throws(() => Deno.statSync(path), Deno.errors.NotFound);
});
