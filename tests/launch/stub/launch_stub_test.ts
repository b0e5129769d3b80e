import assert from "node:assert/strict";
import { launchStub, parseEndReport, parseStubReport, type StubOptions } from "../../../src/launch/stub/launch_stub.ts";
import { landlockPlan, type LandlockRuleset, planStub } from "../../../src/launch/backends/landlock.ts";
import type { LaunchPlan } from "../../../src/launch/launch_plan.ts";
import { networkFilter, seccompProgram } from "../../../src/launch/stub/seccomp.ts";
import { closeDescriptor, openPipe, readInto } from "../../../src/os/descriptor.ts";
import { allocate } from "../../../src/os/libc.ts";
import { ARCHITECTURE, IS_ROOT, landlockHost, type RunOptions, runPlan, shell } from "../run_plan.ts";
import { isMissing } from "../sandboxed.ts";

const isLinux = Deno.build.os === "linux";
const test = (name: string, fn: () => Promise<void>) => Deno.test({ name, ignore: !isLinux, fn });

/** The stub started directly, with descriptors of the plan's choice. */
function stubPlan(argv: string[], options: Partial<StubOptions> = {}): LaunchPlan {
  const bytes = launchStub({ architecture: ARCHITECTURE, reportDescriptor: 3, closeOnExec: [4], ...options });
  return {
    program: "/proc/self/fd/4",
    argv: ["launch", ...argv],
    env: { PATH: "/usr/bin:/bin", GREETING: "hello there" },
    cwd: "/",
    descriptors: [{ fd: 3, type: "report" }, { fd: 4, type: "bytes", bytes }],
    blockedSignals: [],
  };
}

test("launchStub() becomes the program, with its arguments, its name and its environment", async () => {
  const run = await runPlan(stubPlan(["/bin/sh", "zed", "-c", `echo "$0|$1|$2|$GREETING|$#"; exit 7`, "a", "b c", ""]));
  assert.deepEqual(run, { code: 7, stdout: "a|b c||hello there|2\n", stderr: "", report: { type: "executed" } });
  const named = await runPlan(stubPlan(["/bin/sh", "zed", "-c", "cat /proc/$$/cmdline | tr '\\0' ' '"]));
  assert.match(named.stdout, /^zed -c /);
});

test("launchStub() leaves the program only its standard descriptors", async () => {
  const { stdout } = await runPlan(stubPlan(["/bin/ls", "ls", "/proc/self/fd"], { closeOnExec: [4, 77] }));
  // The fourth is ls itself, looking.
  assert.deepEqual(stdout.trim().split("\n"), ["0", "1", "2", "3"]);
});

test("launchStub() unblocks the signals that were blocked for a wrapper", async () => {
  const blocked = async (plan: LaunchPlan) => /SigBlk:\s*(\w+)/.exec((await runPlan(plan)).stdout)?.[1];
  const status = ["/bin/grep", "grep", "SigBlk", "/proc/self/status"];
  assert.equal(await blocked({ ...stubPlan(status), blockedSignals: [2, 15, 20] }), "0000000000000000");
  assert.equal(await blocked(stubPlan(status, { blockedSignals: [2, 15] })), "0000000000004002");
});

test("launchStub() reports why the program could not be executed", async () => {
  const cases: [string, number][] = [["/does/not/exist", 2], ["/etc/passwd", 13], ["/etc", 13], ["/etc/passwd/x", 20]];
  for (const [program, errno] of cases) {
    const run = await runPlan(stubPlan([program, "x"]));
    assert.deepEqual(run, { code: 126, stdout: "", stderr: "", report: { type: "notExecuted", errno } }, program);
  }
});

test("launchStub() reports a restriction that it could not apply, and runs nothing", async () => {
  const ruleset = await runPlan(stubPlan(["/bin/echo", "echo", "ran"], { landlockDescriptor: 9 }));
  assert.deepEqual(ruleset.stdout, "");
  assert.ok(ruleset.report.type === "notConfined");
  assert.equal(ruleset.report.failure, "apply the Landlock rules");
  const filter = await runPlan(stubPlan(["/bin/echo", "echo", "ran"], { seccomp: new Uint8Array(8).fill(0xff) }));
  assert.deepEqual(filter.stdout, "");
  assert.deepEqual(filter.report, { type: "notConfined", failure: "install the system call filter", errno: 22 });
  assert.equal(filter.code, 126);
});

test("launchStub() gives the program other outputs than its own, and nothing else of them", async () => {
  const { readEnd, writeEnd } = openPipe();
  const script = "echo out; echo err >&2; echo /proc/self/fd/*";
  const plan = stubPlan(["/bin/sh", "sh", "-c", script], { outputs: [5, 6] });
  const given = (fd: number) => ({ fd, type: "given", descriptor: writeEnd }) as const;
  const run = await runPlan({ ...plan, descriptors: [...plan.descriptors, given(5), given(6)] });
  assert.deepEqual(run, { code: 0, stdout: "", stderr: "", report: { type: "executed" } });
  const written = allocate(256);
  const text = new TextDecoder().decode(written.subarray(0, readInto(readEnd, written)));
  assert.match(text, /^out\nerr\n(\/proc\/self\/fd\/[0123] ?)+\n$/);
  [readEnd, writeEnd].forEach(closeDescriptor);
});

test("launchStub() reports outputs that it does not have, and runs nothing", async () => {
  const { report } = await runPlan(stubPlan(["/bin/echo", "echo", "ran"], { outputs: [9, 9] }));
  assert.deepEqual(report, { type: "notConfined", failure: "take its output over", errno: 9 });
});

test("launchStub() binds the program to the filter it carries", async () => {
  const seccomp = seccompProgram({ architecture: ARCHITECTURE, network: "restricted" });
  const run = await runPlan(stubPlan(["/bin/sh", "sh", "-c", "grep -E '^(NoNewPrivs|Seccomp):' /proc/self/status"], {
    seccomp,
  }));
  assert.deepEqual(run.stdout.replaceAll(/\s+/g, " ").trim(), "NoNewPrivs: 1 Seccomp: 2");
});

test("launchStub() that has to wait becomes the program when it is told to, and never if the server is gone", async () => {
  const plan = stubPlan(["/bin/echo", "echo", "ran"], { awaitsGo: true });
  assert.equal((await runPlan(plan, { onReady: "go" })).stdout, "ran\n");
  const SIGPIPE = 13;
  const { code, stdout } = await runPlan(plan, { onReady: "hangUp" });
  assert.deepEqual([code, stdout], [-SIGPIPE, ""]);
});

const onX86 = (name: string, fn: () => Promise<void>): void => {
  const ignore = !isLinux || ARCHITECTURE !== "x86_64";
  Deno.test({ name: ignore ? `${name} (SKIPPED: ${ARCHITECTURE})` : name, ignore, fn });
};

onX86("launchStub() that stays behind holds nothing open but where it tells the end, also on Linux 5.8", async () => {
  const { readEnd, writeEnd } = openPipe();
  const END_FD = 6;
  // Until it is so: the command begins before the stub has closed everything.
  const script = `for i in $(seq 100); do [ "$(echo $(ls /proc/$PPID/fd))" = ${END_FD} ] && break; done; ` +
    "echo $(ls /proc/$PPID/fd); exit 3";
  for (const options of [{}, { seccomp: withoutCall(CLOSE_RANGE) }]) {
    const plan = stubPlan(["/bin/sh", "sh", "-c", script], { endDescriptor: END_FD, ...options });
    const descriptors = [
      ...plan.descriptors,
      { fd: 5, type: "given", descriptor: readEnd } as const,
      { fd: END_FD, type: "given", descriptor: writeEnd } as const,
    ];
    const run = await runPlan({ ...plan, descriptors });
    assert.deepEqual(run, { code: 3, stdout: `${END_FD}\n`, stderr: "", report: { type: "executed" } });
    const told = allocate(16);
    const count = readInto(readEnd, told);
    assert.deepEqual(parseEndReport(told.subarray(0, count)), {
      end: { type: "exited", code: 3 },
      leavesOthers: false,
    });
  }
  [readEnd, writeEnd].forEach(closeDescriptor);
});

const CLOSE_RANGE = 436;

/** A filter by which one call fails with ENOSYS, as on a kernel that does not have it. */
function withoutCall(number: number): Uint8Array<ArrayBuffer> {
  const program = [
    [0x20, 0, 0, 0], // load the call's number
    [0x15, 0, 1, number], // if it is another, skip the next
    [0x06, 0, 0, 0x00050000 | 38], // fail with ENOSYS
    [0x06, 0, 0, 0x7fff0000], // allow
  ];
  const view = new DataView(new ArrayBuffer(program.length * 8));
  program.forEach(([code, ifTrue, ifFalse, k], index) => {
    view.setUint16(index * 8, code!, true);
    view.setUint8(index * 8 + 2, ifTrue!);
    view.setUint8(index * 8 + 3, ifFalse!);
    view.setUint32(index * 8 + 4, k!, true);
  });
  return new Uint8Array(view.buffer);
}

const LISTENING = {
  seccomp: networkFilter(ARCHITECTURE, "errno"),
  listening: { seccomp: networkFilter(ARCHITECTURE, "notify"), descriptor: 4 },
} as const;
const TRY_SOCKET = ["perl", "-e", 'socket(my $s, 2, 1, 0) ? print "open" : print $! + 0'];
const ENOSYS = "38";

test("launchStub() leaves the program no listener, and the network stays refused if nobody answers", async () => {
  // These runs read the report and drop what comes with it.
  const { stdout, report } = await runPlan(stubPlan(["/bin/ls", "ls", "/proc/self/fd"], LISTENING));
  assert.deepEqual(stdout.trim().split("\n"), ["0", "1", "2", "3"]);
  assert.deepEqual(report, { type: "executed" });
  assert.equal((await runPlan(stubPlan(["/usr/bin/perl", ...TRY_SOCKET], LISTENING))).stdout, ENOSYS);
  const withoutListener = { seccomp: LISTENING.listening.seccomp };
  assert.equal((await runPlan(stubPlan(["/usr/bin/perl", ...TRY_SOCKET], withoutListener))).stdout, ENOSYS);
});

test("launchStub() gives up every capability", async () => {
  const status = ["/bin/grep", "grep", "-E", "^Cap(Prm|Eff|Amb)", "/proc/self/status"];
  const run = await runPlan(stubPlan(status, { dropCapabilities: IS_ROOT ? "required" : "ifPossible" }));
  assert.deepEqual(run.stdout.match(/\w+$/gm), Array.from({ length: 3 }, () => "0000000000000000"));
  // Nobody but root may fix it for all that follow; who requires it runs nothing then.
  if (IS_ROOT) return;
  const refused = await runPlan(stubPlan(status, { dropCapabilities: "required" }));
  assert.deepEqual(refused.report, { type: "notConfined", failure: "give up capabilities", errno: 1 });
});

test("planStub() leaves files alone that the ruleset does not handle", async () => {
  const { ruleset } = landlockPlan({ files: "unrestricted", network: "restricted" }, landlockHost()) as {
    ruleset: LandlockRuleset;
  };
  const options = { architecture: ARCHITECTURE, network: "restricted", ruleset, isRoot: IS_ROOT } as const;
  const root = await Deno.makeTempDir();
  try {
    const run = await runPlan(planStub(shell("echo x > file && chmod 600 file && cat file", root), options));
    assert.deepEqual(run, { code: 0, stdout: "x\n", stderr: "", report: { type: "executed" } });
  } finally {
    await Deno.remove(root, { recursive: true });
  }
});

Deno.test("parseStubReport() takes silence and garbage for a failed sandbox", () => {
  const report = (...bytes: number[]) => parseStubReport(Uint8Array.from(bytes));
  assert.deepEqual(report(0x52), { type: "executed" });
  assert.deepEqual(report(0x52, 0x45, 2, 0, 0, 0), { type: "notExecuted", errno: 2 });
  assert.deepEqual(report(0x4c, 1, 0, 0, 0), { type: "notConfined", failure: "apply the Landlock rules", errno: 1 });
  for (const bytes of [[], [0x45, 2, 0, 0, 0], [0x52, 0x45], [0x52, 0x51, 2, 0, 0, 0], [0x58], [0x52, 0x52]]) {
    assert.equal(report(...bytes).type, "notConfined", bytes.join());
  }
});

Deno.test("launchStub() for the other architecture is a complete program of it", () => {
  for (const [architecture, machine] of [["x86_64", 62], ["aarch64", 183]] as const) {
    const bytes = launchStub({ architecture, reportDescriptor: 5, closeOnExec: [3, 4] });
    const view = new DataView(bytes.buffer);
    assert.deepEqual([...bytes.subarray(0, 7)], [0x7f, 0x45, 0x4c, 0x46, 2, 1, 1]);
    assert.equal(view.getUint16(18, true), machine);
    assert.equal(view.getBigUint64(64 + 32, true), BigInt(bytes.length));
    assert.ok(bytes.length < 1024);
  }
});

/** Runs programs of the other architecture; Debian's package is `qemu-user`. */
const OTHER = ARCHITECTURE === "x86_64" ? "aarch64" : "x86_64";
const EMULATOR = `/usr/bin/qemu-${OTHER}`;
const noEmulator = isMissing(EMULATOR);

Deno.test({
  name: `launchStub() works on ${OTHER}${noEmulator === false ? "" : ` (SKIPPED: ${noEmulator})`}`,
  ignore: noEmulator !== false,
  async fn() {
    const root = await Deno.makeTempDir();
    try {
      const run = async (argv: string[], options: Partial<StubOptions> = {}, more: RunOptions = {}) => {
        const file = `${root}/stub`;
        const bytes = launchStub({ architecture: OTHER, reportDescriptor: 3, closeOnExec: [4], ...options });
        await Deno.writeFile(file, bytes, { mode: 0o755 });
        return await runPlan({
          program: EMULATOR,
          argv: ["qemu", file, ...argv],
          env: { PATH: "/usr/bin:/bin", GREETING: "hello" },
          cwd: "/",
          descriptors: [{ fd: 3, type: "report" }],
          blockedSignals: [],
        }, more);
      };
      const waiting = (onReady: RunOptions["onReady"]) =>
        run(["/bin/echo", "echo", "ran"], { awaitsGo: true }, { onReady });
      assert.equal((await waiting("go")).stdout, "ran\n");
      assert.equal((await waiting("hangUp")).stdout, "");
      assert.deepEqual(await run(["/bin/sh", "zed", "-c", 'echo "$0|$1|$GREETING"; exit 7', "a", "b c"]), {
        code: 7,
        stdout: "a|b c|hello\n",
        stderr: "",
        report: { type: "executed" },
      });
      assert.deepEqual((await run(["/does/not/exist", "x"])).report, { type: "notExecuted", errno: 2 });
      // The emulator has no Landlock, which is as good as a kernel without it.
      const landlock = await run(["/bin/echo", "echo", "ran"], { landlockDescriptor: 9 });
      assert.equal(landlock.stdout, "");
      assert.deepEqual(landlock.report, { type: "notConfined", failure: "apply the Landlock rules", errno: 38 });
    } finally {
      await Deno.remove(root, { recursive: true });
    }
  },
});
