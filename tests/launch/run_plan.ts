/**
 * Carries launch plans out for tests: real descriptors, a real session, the real order of things, in few lines. Nobody
 * looks at the sandbox before the command is let go on: that is tested where the server does it.
 *
 * More than 300 lines: one run from its descriptors to its end.
 */

import { NO_KERNEL_MOUNTS } from "../../src/launch/kernel_mounts.ts";
import assert from "node:assert/strict";
import { closeDescriptor, openDescriptor, openPipe, setNonblocking, writeFrom } from "../../src/os/descriptor.ts";
import { toByteString } from "../../src/os/files/byte_string.ts";
import { sharedChildLimits } from "../../src/os/children/child_limits.ts";
import { O_PATH, O_WRONLY, openWithoutLinks } from "../../src/os/files/file_calls.ts";
import { ENOENT } from "../../src/os/errno.ts";
import { addressOf, allocate, cString, cStringArray, lastErrno, libc, whilePinned } from "../../src/os/libc.ts";
import { reapingFunctions } from "../../src/os/children/child_reaping.ts";
import { sendSignal } from "../../src/os/children/pidfd.ts";
import { spawnFunctions } from "../../src/os/children/spawn.ts";
import { MarkSeries } from "../../src/os/children/process_mark.ts";
import { openTerminal } from "../../src/os/children/pty.ts";
import { openSocketPair, sendByte } from "../../src/os/loop/socket_message.ts";
import type { LandlockHost, LandlockRuleset } from "../../src/launch/backends/landlock.ts";
import type { ConfinedCommand, LaunchPlan, PlannedDescriptor } from "../../src/launch/launch_plan.ts";
import { parseStubReport, READY, type StubReport } from "../../src/launch/stub/launch_stub.ts";
import { parseFirstProcess } from "../../src/launch/backends/bubblewrap.ts";
import type { Architecture } from "../../src/launch/stub/syscalls.ts";

export const ARCHITECTURE: Architecture = Deno.build.arch;
export const IS_ROOT = Deno.uid() === 0;

export interface FinishedRun {
  /** The exit code, or minus the signal that ended the direct child. */
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly report: StubReport;
}

export interface Run {
  readonly pid: number;
  /** Resolves when the output so far contains the text; rejects when the output ends without it. */
  seen(text: string): Promise<void>;
  /** To the terminal, or to standard input. */
  write(text: string): void;
  /** To the process group, as the server does it. */
  signal(signal: number): void;
  finished(): Promise<FinishedRun>;
}

export interface RunOptions {
  readonly terminal?: boolean;
  readonly stdin?: "open";
  /** What a stub hears that is ready and waits: by default that it may go on, if the plan has it wait. */
  readonly onReady?: "go" | "hangUp" | undefined;
  /** Called when nothing of it runs any more. */
  readonly ended?: () => void;
}

/** A shell command in the directory given. */
export function shell(script: string, cwd = "/", env: Record<string, string> = {}): ConfinedCommand {
  return { program: "/bin/sh", argv: ["sh", "-c", script], env: { PATH: "/usr/bin:/bin", ...env }, cwd };
}

export async function runPlan(plan: LaunchPlan, options: RunOptions = {}): Promise<FinishedRun> {
  return await (await startPlan(plan, options)).finished();
}

let mark: bigint | undefined;

/**
 * Servers that other test files run are in this same process. To them a child without a mark that leads a session could be
 * what one of theirs has left behind, and would be ended with it.
 */
function ownMark(): bigint {
  return mark ??= new MarkSeries().mark(1);
}

/** No descriptor of a plan is higher: sources are moved above it, so that none is overwritten before it is copied. */
const ABOVE_ALL_TARGETS = 200;
const F_DUPFD_CLOEXEC = 1030;
const MFD_CLOEXEC = 1n;
const SYS_MEMFD_CREATE = { x86_64: 319n, aarch64: 279n }[ARCHITECTURE];
const SETSIGDEF_SETSIGMASK_SETSID = 0x8c;

export async function startPlan(plan: LaunchPlan, options: RunOptions = {}): Promise<Run> {
  const c = spawnFunctions();
  const report = openSocketPair();
  const info = openPipe();
  const stdout = openPipe();
  const stderr = openPipe();
  const stdin = options.stdin === "open" ? openPipe() : null;
  const terminal = options.terminal === true ? openTerminal({ rows: 24, cols: 80 }) : null;
  const copies = new Copies();
  const sources = plan.descriptors.map((planned) => ({
    fd: planned.fd,
    source: copies.moveUp(openPlanned(planned, { report: report.theirs, info: info.writeEnd }, copies)),
  }));

  const actions = allocate(256);
  check(c.posix_spawn_file_actions_init(actions));
  if (terminal === null) {
    if (stdin === null) check(c.posix_spawn_file_actions_addopen(actions, 0, cString("/dev/null"), 0, 0));
    else check(c.posix_spawn_file_actions_adddup2(actions, copies.moveUp(stdin.readEnd), 0));
    check(c.posix_spawn_file_actions_adddup2(actions, copies.moveUp(stdout.writeEnd), 1));
    check(c.posix_spawn_file_actions_adddup2(actions, copies.moveUp(stderr.writeEnd), 2));
  } else {
    check(c.posix_spawn_file_actions_addopen(actions, 0, cString(terminal.slavePath), 2, 0));
    check(c.posix_spawn_file_actions_adddup2(actions, 0, 1));
    check(c.posix_spawn_file_actions_adddup2(actions, 0, 2));
  }
  for (const { fd, source } of sources) check(c.posix_spawn_file_actions_adddup2(actions, source, fd));
  check(c.posix_spawn_file_actions_addchdir_np(actions, cString(plan.cwd)));
  check(c.posix_spawn_file_actions_addclosefrom_np!(actions, Math.max(2, ...plan.descriptors.map(({ fd }) => fd)) + 1));

  const attributes = allocate(512);
  const all = allocate(128);
  const mask = allocate(128);
  for (const signal of plan.blockedSignals) mask[(signal - 1) >> 3]! |= 1 << ((signal - 1) & 7);
  check(c.sigfillset(all));
  check(c.posix_spawnattr_init(attributes));
  check(c.posix_spawnattr_setsigdefault(attributes, all));
  check(c.posix_spawnattr_setsigmask(attributes, mask));
  check(c.posix_spawnattr_setflags(attributes, SETSIGDEF_SETSIGMASK_SETSID));

  const pidBytes = allocate(4);
  const argv = cStringArray(plan.argv);
  const env = cStringArray(Object.entries(plan.env).map(([name, value]) => `${name}=${value}`));
  const buffers = [pidBytes, cString(plan.program), actions, attributes, argv, env] as const;
  const mark = ownMark();
  const limits = sharedChildLimits();
  limits.startBegins(ABOVE_ALL_TARGETS);
  limits.inheritMark(mark);
  const errno = await whilePinned(buffers, () => c.posix_spawn(...buffers));
  const pid = new DataView(pidBytes.buffer).getInt32(0, true);
  limits.startEnded(errno === 0 ? { pid, mark } : null);
  c.posix_spawn_file_actions_destroy(actions);
  copies.close();
  for (const fd of [report.theirs, info.writeEnd, stdout.writeEnd, stderr.writeEnd, stdin?.readEnd]) {
    if (fd !== undefined) closeDescriptor(fd);
  }
  check(errno);

  const output = terminal === null
    ? new Collected(stdout.readEnd)
    : new Collected(terminal.master, { slave: terminal.slave });
  if (terminal !== null) closeDescriptor(stdout.readEnd);
  const errors = new Collected(stderr.readEnd);
  const reported = new Collected(report.ours, { isSocket: true, onReady: options.onReady ?? (plan.view && "go") });
  const informed = new Collected(info.readEnd);
  const inputFd = terminal?.master ?? stdin?.writeEnd;
  let isInputOpen = inputFd !== undefined && terminal === null;
  const closeInput = (): void => {
    if (isInputOpen) closeDescriptor(inputFd!);
    isInputOpen = false;
  };

  return {
    pid,
    seen: (text) => output.seen(text),
    write(text) {
      const bytes = new TextEncoder().encode(text);
      assert.equal(writeFrom(inputFd!, bytes), bytes.length);
    },
    signal: (signal) => void sendSignal(-pid, signal),
    async finished() {
      closeInput();
      const reportBytes = await reported.whole();
      const first = parseFirstProcess(await informed.whole());
      const code = await waitFor(pid);
      if (first !== null) await untilGone(first);
      output.childEnded();
      const [stdoutBytes, stderrBytes] = await Promise.all([output.whole(), errors.whole()]);
      options.ended?.();
      const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
      return {
        code,
        stdout: decode(stdoutBytes),
        stderr: decode(stderrBytes),
        report: parseStubReport(reportBytes),
      };
    },
  };
}

/** Descriptors that are only needed until the child has its own. */
class Copies {
  readonly #fds: number[] = [];

  /** A copy high enough to be out of the way. */
  moveUp(fd: number): number {
    const moved = libc().fcntl(fd, F_DUPFD_CLOEXEC, ABOVE_ALL_TARGETS);
    assert.ok(moved >= ABOVE_ALL_TARGETS);
    return this.own(moved);
  }

  own(fd: number): number {
    this.#fds.push(fd);
    return fd;
  }

  close(): void {
    this.#fds.splice(0).forEach(closeDescriptor);
  }
}

/** The child's ends of what it reports through. */
interface ReportEnds {
  readonly report: number;
  readonly info: number;
}

function openPlanned(planned: PlannedDescriptor, ends: ReportEnds, copies: Copies): number {
  switch (planned.type) {
    case "bytes": {
      const c = libc();
      const name = cString("plan");
      const fd = c.syscall(SYS_MEMFD_CREATE, addressOf(name), MFD_CLOEXEC, 0n, 0n);
      assert.ok(fd >= 0);
      const bytes = new Uint8Array(planned.bytes);
      assert.equal(writeFrom(fd, bytes), bytes.length);
      // The offset is shared with every copy: reopening gives the child its own, at the start, and read-only.
      const reopened = c.open(cString(`/proc/self/fd/${fd}`), 0o2000000, 0);
      closeDescriptor(fd);
      return copies.own(reopened);
    }
    case "program":
      return openPlanned({ fd: planned.fd, type: "bytes", bytes: Deno.readFileSync(planned.path) }, ends, copies);
    case "path": {
      const fd = openWithoutLinks(toByteString(planned.path), O_PATH);
      assert.ok(fd >= 0, `open ${planned.path}: ${fd}`);
      return copies.own(fd);
    }
    case "report":
    case "info":
      return ends[planned.type];
    case "command":
    case "end":
    case "output":
      throw new Error("a plan of a watched command is carried out by the backend alone");
    case "lastPid":
      return copies.own(openDescriptor("/proc/sys/kernel/ns_last_pid", O_WRONLY));
    case "given":
      return planned.descriptor;
    case "landlock":
      return copies.own(makeRuleset(planned.ruleset));
  }
}

const SYS_LANDLOCK_CREATE_RULESET = 444n;
const SYS_LANDLOCK_ADD_RULE = 445n;
const RULE_PATH_BENEATH = 1n;

/** The version of Landlock that the kernel has; 0 for none. */
export function landlockAbi(): number {
  return Math.max(0, libc().syscall(SYS_LANDLOCK_CREATE_RULESET, 0n, 0n, 1n, 0n));
}

function makeRuleset({ handledFileAccess, handledNetworkAccess, scoped, rules }: LandlockRuleset): number {
  const c = libc();
  const attributes = allocate(24);
  const view = new DataView(attributes.buffer);
  [handledFileAccess, handledNetworkAccess, scoped].forEach((bits, index) =>
    view.setBigUint64(index * 8, BigInt(bits), true)
  );
  const ruleset = c.syscall(SYS_LANDLOCK_CREATE_RULESET, addressOf(attributes), 24n, 0n, 0n);
  assert.ok(ruleset >= 0);
  for (const { path, access } of rules) {
    const fd = c.open(cString(path), O_PATH | 0o2000000, 0);
    // Such as the placeholder of another sandbox, which has ended since the look at the directory.
    if (fd < 0 && lastErrno() === ENOENT) continue;
    assert.ok(fd >= 0, path);
    const rule = allocate(12);
    new DataView(rule.buffer).setBigUint64(0, BigInt(access), true);
    new DataView(rule.buffer).setInt32(8, fd, true);
    assert.equal(c.syscall(SYS_LANDLOCK_ADD_RULE, BigInt(ruleset), RULE_PATH_BENEATH, addressOf(rule), 0n), 0, path);
    closeDescriptor(fd);
  }
  return ruleset;
}

interface CollectedOptions {
  readonly slave?: number | null;
  readonly isSocket?: boolean;
  readonly onReady?: RunOptions["onReady"];
}

/** Everything a descriptor delivers until its end. */
class Collected {
  readonly #done: Promise<void>;
  #bytes = new Uint8Array();
  #isDone = false;
  #wake: (() => void)[] = [];
  readonly #onReady: RunOptions["onReady"];
  #slave: number | null;
  #file: Deno.FsFile | null = null;

  /** A terminal's master does not end while anyone holds the slave, including ourselves. */
  constructor(fd: number, { slave = null, isSocket = false, onReady }: CollectedOptions = {}) {
    this.#onReady = onReady;
    this.#slave = slave;
    this.#done = isSocket ? this.#readSocket(fd) : slave === null ? this.#readPipe(fd) : this.#readTerminal(fd);
  }

  childEnded(): void {
    if (this.#slave !== null) closeDescriptor(this.#slave);
    this.#slave = null;
  }

  async whole(): Promise<Uint8Array> {
    await this.#done;
    return this.#bytes;
  }

  async seen(text: string): Promise<void> {
    while (!new TextDecoder().decode(this.#bytes).includes(text)) {
      if (this.#isDone) throw new Error(`output ended without ${text}: ${new TextDecoder().decode(this.#bytes)}`);
      await new Promise<void>((resolve) => this.#wake.push(resolve));
    }
  }

  #add(chunk: Uint8Array): void {
    const joined = new Uint8Array(this.#bytes.length + chunk.length);
    joined.set(this.#bytes);
    joined.set(chunk, this.#bytes.length);
    this.#bytes = joined;
    this.#wake.splice(0).forEach((wake) => wake());
  }

  async #readPipe(fd: number): Promise<void> {
    this.#file = await Deno.open(`/proc/self/fd/${fd}`);
    closeDescriptor(fd);
    for await (const chunk of this.#file.readable) this.#add(chunk);
    this.#finish();
  }

  /** A descriptor that comes with the bytes is closed by the kernel, since nobody takes it. */
  async #readSocket(fd: number): Promise<void> {
    setNonblocking(fd);
    const buffer = allocate(64);
    for (let count = -1; count !== 0;) {
      count = libc().read(fd, buffer, 64n);
      const isReady = count > 0 && this.#bytes.length === 0 && buffer[0] === READY;
      if (isReady && this.#onReady === "go") sendByte(fd);
      if (isReady && this.#onReady === "hangUp") break;
      if (count > 0) this.#add(buffer.slice(0, count));
      else if (count < 0) await new Promise((resolve) => setTimeout(resolve, 1));
    }
    closeDescriptor(fd);
    this.#finish();
  }

  async #readTerminal(fd: number): Promise<void> {
    const buffer = allocate(4096);
    for (;;) {
      const count = libc().read(fd, buffer, 4096n);
      if (count > 0) this.#add(buffer.slice(0, count));
      // Nothing to read now; or, once nobody holds the slave, nothing ever again.
      else if (this.#slave === null) break;
      else await new Promise((resolve) => setTimeout(resolve, 2));
    }
    closeDescriptor(fd);
    this.#finish();
  }

  #finish(): void {
    this.#isDone = true;
    this.#wake.splice(0).forEach((wake) => wake());
  }
}

const P_PID = 1;
const WEXITED = 4;
const WNOHANG = 1;
const CLD_EXITED = 1;

async function waitFor(pid: number): Promise<number> {
  const info = allocate(128);
  const view = new DataView(info.buffer);
  for (;;) {
    assert.equal(reapingFunctions().waitid(P_PID, pid, info, WEXITED | WNOHANG), 0);
    if (view.getInt32(16, true) === pid) break;
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  const status = view.getInt32(24, true);
  return view.getInt32(8, true) === CLD_EXITED ? status : -status;
}

/** The first process of a namespace ends last of all in it. Whether its new parent has noticed does not matter. */
async function untilGone(pid: number): Promise<void> {
  while (isRunning(pid)) await new Promise((resolve) => setTimeout(resolve, 1));
}

function isRunning(pid: number): boolean {
  try {
    return !/\) [ZX] /.test(Deno.readTextFileSync(`/proc/${pid}/stat`));
  } catch {
    return false; // It is gone altogether.
  }
}

function check(errno: number): void {
  assert.equal(errno, 0);
}

/** What a ruleset for this machine is made from. */
export function landlockHost(): LandlockHost {
  const topLevel = [...Deno.readDirSync("/")].filter(({ isSymlink }) => !isSymlink).map(({ name }) => `/${name}`);
  return { abi: landlockAbi(), topLevel, kernelMounts: NO_KERNEL_MOUNTS };
}
