/** What a sandbox lets happen on the network and in the kernel, tried for real. */

import assert from "node:assert/strict";
import { landlockPlan, type LandlockRuleset, planStub } from "../../../src/launch/backends/landlock.ts";
import type { LaunchPlan } from "../../../src/launch/launch_plan.ts";
import type { Policy } from "../../../src/launch/policy/policy.ts";
import { type SyscallName, syscallNumber } from "../../../src/launch/stub/syscalls.ts";
import { ARCHITECTURE, type FinishedRun, IS_ROOT, landlockHost, runPlan, shell } from "../run_plan.ts";
import { type Box, sandboxTest } from "../sandboxed.ts";

const EPERM = -1;
const EBADF = -9;
const ENOSYS = -38;

const PROBE = new URL("../syscall_probe.ts", import.meta.url).pathname;

function probeCommand(request: unknown) {
  const argv = ["deno", "run", "--no-config", "--no-lock", "--allow-ffi", PROBE, JSON.stringify(request)];
  return {
    program: Deno.execPath(),
    argv,
    env: { PATH: "/usr/bin:/bin", DENO_DIR: "/dev/shm/deno", NO_COLOR: "1" },
    cwd: "/",
  };
}

/** Landlock's rules for a policy that confines no files. */
function withoutFiles(network: Policy["network"]): LandlockRuleset {
  const plan = landlockPlan({ files: "unrestricted", network }, landlockHost());
  assert.ok(plan.type === "ruleset");
  return plan.ruleset;
}

/** Confined by bubblewrap and filter, and by the filter with next to nothing: the table holds for both. */
async function plansFor(box: Box, network: Policy["network"], request: unknown): Promise<LaunchPlan[]> {
  const command = probeCommand(request);
  return [
    (await box.prepare("read /", command, { network })).plan!,
    planStub({ ...command, env: { ...command.env, DENO_DIR: box.root } }, {
      architecture: ARCHITECTURE,
      network,
      ruleset: withoutFiles(network),
      isRoot: IS_ROOT,
    }),
  ];
}

async function probe(plan: LaunchPlan): Promise<number[]> {
  const run = await runPlan(plan);
  assert.equal(run.code, 0, run.stderr);
  return JSON.parse(run.stdout);
}

type Row = readonly [SyscallName, readonly number[], expected: number | "works"];

async function checkRows(box: Box, network: Policy["network"], rows: readonly Row[]): Promise<void> {
  const request = rows.map(([name, args]) => [syscallNumber(name, ARCHITECTURE), args]);
  for (const plan of await plansFor(box, network, request)) {
    const results = await probe(plan);
    rows.forEach(([name, args, expected], index) => {
      const result = results[index]!;
      const what = `${name}(${args}) under ${plan.argv[0]}: ${result}`;
      if (expected === "works") assert.ok(result >= 0, what);
      else assert.equal(result, expected, what);
    });
  }
}

sandboxTest("without network no socket can be made that reaches anything", async (box) => {
  await checkRows(box, "restricted", [
    ["socket", [2, 1], EPERM],
    ["socket", [2, 2], EPERM],
    ["socket", [10, 1], EPERM],
    ["socket", [16, 3], EPERM], // NETLINK
    ["socket", [40, 1], EPERM], // VSOCK
    ["socket", [17, 3], EPERM], // PACKET
    ["socket", [1, 2], EPERM], // a local datagram socket
    ["socket", [1, 1], "works"],
    ["socket", [1, 5], "works"],
    // Refused whether or not there is anything to connect to.
    ["connect", [-1, 0, 0], EPERM],
    ["socketpair", [1, 2, 0, 0], EPERM],
    ["socketpair", [1, 1, 0, 0], -14], // allowed, and then a bad address
  ]);
});

sandboxTest("what is refused is refused with and without network", async (box) => {
  const rows: Row[] = [
    ["ptrace", [0], EPERM],
    ["process_vm_readv", [1], EPERM],
    ["io_uring_setup", [1, 0], EPERM],
    ["bpf", [0], EPERM],
    ["perf_event_open", [0], EPERM],
    ["userfaultfd", [0], EPERM],
    ["keyctl", [0, -3], EPERM],
    ["add_key", [0], EPERM],
    ["pidfd_getfd", [-1, 0, 0], EPERM],
    ["open_by_handle_at", [-1, 0, 0], EPERM],
    ["setns", [-1, 0], EPERM],
    ["mount", [0], EPERM],
    ["unshare", [0x10000000], EPERM],
    ["clone3", [0, 0], ENOSYS],
    ["ioctl", [-1, 0x5412], EPERM], // TIOCSTI
    ["ioctl", [-1, 0x5413], EBADF], // any other request gets as far as the descriptor
    ["clone", [0x10000011], EPERM],
  ];
  await checkRows(box, "restricted", rows);
  await checkRows(box, "enabled", [...rows, ["socket", [2, 1], "works"], ["connect", [-1, 0, 0], EBADF]]);
});

const NOT_X86 = { because: ARCHITECTURE !== "x86_64" && "there is no other architecture to call" } as const;

sandboxTest("calls of another architecture end the process", async (box) => {
  for (const plan of await plansFor(box, "enabled", ["int80"])) {
    const { code, stdout, report } = await runPlan(plan);
    // bubblewrap turns a signal into 128 and its number; without it the child itself is signalled.
    assert.ok(code === 159 || code === -31, `code ${code}`);
    assert.deepEqual({ stdout, report }, { stdout: "", report: { type: "executed" } });
  }
}, NOT_X86);

sandboxTest("x32 calls do not exist", async (box) => {
  for (const plan of await plansFor(box, "enabled", [[0x40000000 + 41, [2, 1]]])) {
    assert.deepEqual(await probe(plan), [ENOSYS]);
  }
}, NOT_X86);

sandboxTest("without network there is a network namespace of its own, with it there is the host's", async (box) => {
  const namespace = async (network: Policy["network"]) =>
    (await box.run("read /", "readlink /proc/self/ns/net; cat /proc/net/dev | wc -l", { network })).stdout;
  const host = Deno.readLinkSync("/proc/self/ns/net");
  const [own, devices] = (await namespace("restricted")).trim().split("\n");
  assert.notEqual(own, host);
  assert.equal(devices, "3"); // two lines of headings, and the loopback
  assert.ok((await namespace("enabled")).startsWith(`${host}\n`));
});

sandboxTest("a server on the host's loopback is in reach only with network", async (box) => {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0, transport: "tcp" });
  const accepted = listener.accept();
  const script = `exec 3<>/dev/tcp/127.0.0.1/${(listener.addr as Deno.NetAddr).port} && echo connected`;
  const command = { ...shell(""), program: "/bin/bash", argv: ["bash", "-c", script] };
  const connect = (network: Policy["network"]): Promise<FinishedRun> => box.runCommand("read /", command, { network });
  const refused = await connect("restricted");
  assert.equal(refused.stdout, "");
  assert.match(refused.stderr, /Operation not permitted/);
  assert.equal((await connect("enabled")).stdout, "connected\n");
  (await accepted).close();
});

sandboxTest("local sockets of the host are out of reach without network", async (box) => {
  using listener = Deno.listen({ path: `${box.root}/out/socket`, transport: "unix" });
  const command = {
    program: Deno.execPath(),
    argv: [
      "deno",
      "eval",
      `await Deno.connect({ path: "${box.root}/out/socket", transport: "unix" }); console.log("in")`,
    ],
    env: { PATH: "/usr/bin:/bin", DENO_DIR: "/dev/shm/deno", NO_COLOR: "1" },
    cwd: "/",
  };
  const refused = await box.runCommand("read /", command, { network: "restricted" });
  assert.equal(refused.stdout, "");
  assert.match(refused.stderr, /Operation not permitted|NotCapable|PermissionDenied/);
  const accepted = listener.accept();
  const worked = await box.runCommand("read /", command, { network: "enabled" });
  assert.equal(worked.stdout, "in\n", worked.stderr);
  (await accepted).close();
});

sandboxTest("the filter leaves ordinary programs alone", async (box) => {
  const script = [
    "set -e",
    "x=$(echo a | tr a b | cat)",
    "(sleep 0 & wait)",
    "mkfifo ws/p; (echo through > ws/p &) ; cat ws/p",
    "find ws -name in.txt -exec cat {} +; echo",
    "tar cf - ws/a | tar tf - | wc -l",
    "chmod 600 ws/in.txt; touch -d 2001-01-01 ws/in.txt; cp -p ws/in.txt ws/copy",
    "timeout 5 true; nice true; setsid true",
    "id -u > /dev/null; date > /dev/null; df . > /dev/null",
    "echo done $x",
  ].join("\n");
  for (const network of ["restricted", "enabled"] as const) {
    const { code, stdout, stderr } = await box.run("read /, write ws", script, { network });
    assert.deepEqual({ code, stderr }, { code: 0, stderr: "" });
    assert.match(stdout, /^through\nin\n\d+\ndone b\n$/);
    Deno.removeSync(`${box.root}/ws/p`);
  }
});
