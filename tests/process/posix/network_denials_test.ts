/** What a sandbox without network refuses is known: real programs, under every way to confine them. */

import assert from "node:assert/strict";
import { MIN_LANDLOCK_ABI } from "../../../src/launch/backends/landlock.ts";
import { launchStub } from "../../../src/launch/stub/launch_stub.ts";
import { networkFilter } from "../../../src/launch/stub/seccomp.ts";
import { syscallNumber } from "../../../src/launch/stub/syscalls.ts";
import { landlockVersion } from "../../../src/os/children/landlock.ts";
import type { NetworkDenial, ProcessIo } from "../../../src/process/backend.ts";
import { MAX_DENIALS } from "../../../src/process/limits.ts";
import type { Sandbox } from "../../../src/protocol/sandbox.ts";
import { areInstalled } from "../../support/installed.ts";
import {
  command,
  eventually,
  input,
  PIPES,
  PIPES_WITH_INPUT,
  RecordedChild,
  TERMINAL,
} from "../../support/recorded_child.ts";
import { NO_LISTENER, NO_SANDBOX, SandboxHost } from "../../support/sandbox_host.ts";

const SIGKILL = 9;
const SIGUSR1 = 10;

const PERL = "/usr/bin/perl";
const hasPerl = areInstalled(["perl"], "what a sandbox refuses of the network");
const hasLandlock = Deno.build.os === "linux" && landlockVersion() >= MIN_LANDLOCK_ABI;

/** How the program is confined, the last by Landlock and a policy that has nothing to say about files. */
const WAYS = ["bubblewrap", "landlock", "landlock without files"] as const;

class Confined implements AsyncDisposable {
  readonly host: SandboxHost;
  readonly #way: typeof WAYS[number];

  constructor(host: SandboxHost, way: typeof WAYS[number]) {
    this.host = host;
    this.#way = way;
  }

  sandbox(network: "restricted" | "enabled" = "restricted"): Sandbox {
    const sandbox = this.host.sandbox("read /", network);
    return this.#way === "landlock without files"
      ? { ...sandbox, permissions: { type: "external", network } }
      : sandbox;
  }

  async start(argv: readonly string[], io: ProcessIo = PIPES): Promise<RecordedChild> {
    const request = command(argv, { io, cwd: `${this.host.root}/ws` });
    return await RecordedChild.start(this.host.backend, this.host.confined(request, this.sandbox()));
  }

  /** Runs a Perl program to its end. */
  async perl(program: string, io?: ProcessIo) {
    const child = await this.start([PERL, "-e", program], io);
    const status = await child.exit;
    await child.end;
    const denials = child.process.networkDenials;
    child.process.dispose();
    const output = child.text(io?.type === "pty" ? "pty" : "stdout") + child.text("stderr");
    return { code: status.type === "exited" ? status.code : -1, output, denials };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.host[Symbol.asyncDispose]();
  }
}

function test(
  name: string,
  fn: (confined: Confined) => Promise<void>,
  ways: readonly typeof WAYS[number][] = WAYS,
): void {
  for (const way of ways) {
    const missing = NO_SANDBOX ?? NO_LISTENER ?? (hasPerl ? null : "no perl") ??
      (way !== "bubblewrap" && !hasLandlock ? "this kernel's Landlock is missing or too old" : null);
    Deno.test({
      name: `${way}: ${name}${missing === null ? "" : ` (SKIPPED: ${missing})`}`,
      ignore: missing !== null,
      async fn() {
        const setting = way === "bubblewrap" ? way : "landlock";
        await using confined = new Confined(await SandboxHost.open(setting), way);
        await fn(confined);
      },
    });
  }
}

const by = (program: string) => (call: string): NetworkDenial => ({
  call,
  program,
  isProbe: /NETLINK|INET6/.test(call),
});
const byPerl = by(PERL);
const printErrno = `print $! + 0, " "`;

test("every kind of socket that is refused fails with EPERM and is recorded once, with its program", async (confined) => {
  const kinds = [
    ["2, 1", "AF_INET, SOCK_STREAM"],
    ["2, 2", "AF_INET, SOCK_DGRAM"],
    ["10, 1", "AF_INET6, SOCK_STREAM"],
    ["16, 3", "AF_NETLINK, SOCK_RAW"],
    ["40, 1", "AF_VSOCK, SOCK_STREAM"],
    ["17, 3", "AF_PACKET, SOCK_RAW"],
    ["1, 2", "AF_UNIX, SOCK_DGRAM"],
  ] as const;
  const tries = kinds.map(([args]) => `socket(my $s, ${args}, 0) ? print "open " : ${printErrno};`).join(" ");
  for (const io of [PIPES, TERMINAL]) {
    const { code, output, denials } = await confined.perl(`${tries} ${tries} exit 3`, io);
    assert.deepEqual([code, output], [3, "1 ".repeat(14)]);
    assert.deepEqual(denials, kinds.map(([, names]) => byPerl(`socket(${names})`)));
  }
});

test("a connection to a socket of the host is refused with EPERM and recorded with its path", async (confined) => {
  const path = `${confined.host.root}/ws/socket`;
  using _listener = Deno.listen({ transport: "unix", path });
  const connect = (address: string) => `connect($s, ${address}) ? print "in " : ${printErrno};`;
  const { output, denials } = await confined.perl(
    `use Socket; socket(my $s, AF_UNIX, SOCK_STREAM, 0) or die;
     ${connect(`pack_sockaddr_un("${path}")`)}
     ${connect(`pack_sockaddr_un("\\0hidden")`)}
     ${connect(`pack_sockaddr_in(80, INADDR_LOOPBACK)`)}`,
  );
  assert.equal(output, "1 1 1 ");
  assert.deepEqual(denials?.[0], byPerl(`connect(${path})`));
  assert.match(denials[1]!.call, /^connect\(@hidden@*\)$/);
  assert.deepEqual(denials.slice(2), [byPerl("connect(AF_INET)")]);
});

test("what the C library asks of its own accord is refused and not recorded", async (confined) => {
  const { code, output, denials } = await confined.perl(
    `use Socket; socket(my $s, AF_UNIX, SOCK_STREAM, 0) or die;
     connect($s, pack_sockaddr_un("/var/run/nscd/socket")) ? print "in" : print $! + 0;
     getpwnam("nobody-of-that-name"); exit 1`,
  );
  assert.deepEqual({ code, output, denials }, { code: 1, output: "1", denials: [] });
});

test("a connection whose address cannot be read is refused and not recorded", async (confined) => {
  const number = syscallNumber("connect", Deno.build.arch);
  const { output, denials } = await confined.perl(
    `for ([0, 0], [1, 16], [1, 0]) { syscall(${number}, 0, @$_) < 0 and ${printErrno} }`,
  );
  assert.deepEqual({ output, denials }, { output: "1 1 1 ", denials: [] });
});

test("all programs inside share the record, and each is named", async (confined) => {
  const script =
    `/bin/bash -c "exec 3<>/dev/tcp/127.0.0.1/1" 2>/dev/null & wait; exec ${PERL} -e 'socket(my $s, 10, 1, 0)'`;
  const child = await confined.start(["/bin/sh", "-c", script]);
  await child.exit;
  await child.end;
  const bash = Deno.realPathSync("/bin/bash");
  assert.deepEqual(child.process.networkDenials, [
    by(bash)("socket(AF_INET, SOCK_STREAM)"),
    byPerl("socket(AF_INET6, SOCK_STREAM)"),
  ]);
  child.process.dispose();
});

test("a program that leaves the network alone has an empty record, whatever it prints", async (confined) => {
  const { code, denials } = await confined.perl(`socket(my $s, 1, 1, 0) or die; print "Permission denied"; exit 1`);
  assert.deepEqual({ code, denials }, { code: 1, denials: [] });
});

test("with network nothing is recorded, and the record is unknown rather than empty", async (confined) => {
  const request = command([PERL, "-e", "exit 0"]);
  const open = confined.host.confined(request, confined.sandbox("enabled"));
  const child = await RecordedChild.start(confined.host.backend, open);
  await child.end;
  assert.equal(child.process.networkDenials, null);
  child.process.dispose();
});

test("the program inherits neither listener nor report", async (confined) => {
  const { output } = await confined.perl(
    `opendir(my $d, "/proc/self/fd"); print join " ", sort map { readlink "/proc/self/fd/$_" } grep { /\\d/ } readdir $d`,
  );
  assert.match(output, /pipe:.*pipe:/);
  assert.doesNotMatch(output, /seccomp|socket/);
});

test("a sandbox inside that wants a listener of its own gets none, and refuses all the same", async (confined) => {
  const architecture = Deno.build.arch;
  const inner = launchStub({
    architecture,
    reportDescriptor: 2,
    seccomp: networkFilter(architecture, "errno"),
    listening: { seccomp: networkFilter(architecture, "notify"), descriptor: 9 },
  });
  const path = `${confined.host.root}/ws/inner`;
  await Deno.writeFile(path, inner, { mode: 0o755 });
  const child = await confined.start([
    path,
    PERL,
    "perl",
    "-e",
    `socket(my $s, 2, 1, 0) ? print "open" : print $! + 0`,
  ]);
  await child.exit;
  await child.end;
  // Its report is one letter. With a listener to send along it would have failed, because this is not a socket.
  assert.deepEqual([child.text("stderr"), child.text("stdout")], ["R", "1"]);
  // It was not this sandbox that refused the call.
  assert.deepEqual(child.process.networkDenials, []);
  child.process.dispose();
});

test("a program that is killed while its call waits is gone, unrecorded, and others are answered", async (confined) => {
  const waiting = await confined.start([
    PERL,
    "-e",
    `$| = 1; $SIG{USR1} = sub { socket(my $s, 2, 1, 0); print "answered" }; print "up"; sleep 1 while 1`,
  ]);
  await waiting.saw("stdout", "up");
  const { pid } = waiting.process;
  // Up to its end our event loop stands still, so nobody answers.
  waiting.process.signalGroup(SIGUSR1);
  standStillUntil(() => Deno.readTextFileSync(`/proc/${pid}/syscall`).startsWith(`${SOCKET} `));
  waiting.process.signalGroup(SIGKILL);
  standStillUntil(() => /\) Z /.test(Deno.readTextFileSync(`/proc/${pid}/stat`)));
  assert.deepEqual(await waiting.exit, { type: "signaled", signal: SIGKILL });
  await waiting.end;
  assert.deepEqual([waiting.text("stdout"), waiting.process.networkDenials], ["up", []]);
  waiting.process.dispose();
  assert.equal((await confined.perl(`socket(my $s, 2, 1, 0) or ${printErrno}`)).output, "1 ");
}, ["landlock", "landlock without files"]);

const SOCKET = syscallNumber("socket", Deno.build.arch);

function standStillUntil(isSo: () => boolean): void {
  const deadline = performance.now() + 10_000;
  while (!isSo()) assert.ok(performance.now() < deadline);
}

test("a flood of refused calls leaves a bounded record and everybody else their turn", async (confined) => {
  const flood = await confined.start([
    PERL,
    "-e",
    `for (1 .. 3) { fork or last } for my $f (100 .. 1 << 30) { socket(my $s, $f, 1, 0) and die }`,
  ]);
  await eventually("the record is full", () => flood.process.networkDenials?.length === MAX_DENIALS);
  const other = await confined.start(["cat"], PIPES_WITH_INPUT);
  for (let turn = 0; turn < 20; turn++) {
    await other.process.write(input(`${turn};`));
    await other.saw("stdout", `${turn};`);
  }
  assert.equal((await confined.perl(`socket(my $s, 2, 1, 0) or ${printErrno}`)).output, "1 ");
  assert.deepEqual(flood.events, []);
  assert.equal(flood.process.networkDenials?.length, MAX_DENIALS);
  for (const child of [other, flood]) {
    child.process.signalGroup(SIGKILL);
    await child.exit;
    await child.end;
    child.process.dispose();
  }
});

test("calls of what a program leaves running are answered as long as it lives", async (confined) => {
  const script =
    `${PERL} -e '$SIG{USR1} = sub { socket(my $s, 2, 1, 0); my $e = $! + 0; open my $f, ">", "answer"; print $f "$e\\n" };` +
    ` open my $f, ">", "up"; close $f; sleep 1 while 1' >/dev/null 2>&1 & while [ ! -e up ]; do sleep 0.01; done`;
  const child = await confined.start(["/bin/sh", "-c", script]);
  await child.exit;
  await child.end;
  const [left] = confined.host.backend.descendantsOf(child.process);
  child.process.dispose();
  Deno.kill(left!.pid, "SIGUSR1");
  const answer = `${confined.host.root}/ws/answer`;
  await eventually("the answer is there", () => Deno.readTextFile(answer).then((text) => text === "1\n", () => false));
}, ["landlock without files"]);

test("a listener is closed when nobody is left to answer", async (confined) => {
  const listeners = () =>
    Array.from(Deno.readDirSync("/proc/self/fd"), ({ name }) => {
      try {
        return Deno.readLinkSync(`/proc/self/fd/${name}`);
      } catch {
        return ""; // Closed meanwhile.
      }
    }).filter((target) => target.includes("seccomp")).length;
  const child = await confined.start(["cat"], PIPES_WITH_INPUT);
  assert.equal(listeners(), 1);
  child.process.closeInput();
  await child.exit;
  await child.end;
  child.process.dispose();
  await eventually("the listener is closed", () => listeners() === 0);
});
