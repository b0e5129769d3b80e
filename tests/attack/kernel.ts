/**
 * Attacks by system calls that no shell makes: a hostile program that calls libc, or the kernel directly, with whatever
 * arguments serve it.
 *
 * More than 300 lines: a list of attacks, and one program that makes them.
 */

import assert from "node:assert/strict";
import { closeDescriptor, writeFrom } from "../../src/os/descriptor.ts";
import { openTerminal } from "../../src/os/children/pty.ts";
import { type SyscallName, syscallNumber } from "../../src/launch/stub/syscalls.ts";
import type { Argument, Step } from "../fixtures/hostile_program.ts";
import { eventually } from "../support/recorded_child.ts";
import { attack, type AttackScene, hostileArgv, IS_ROOT, type Place } from "./scene.ts";

const ARCHITECTURE = Deno.build.arch;
const NOT_X86 = ARCHITECTURE !== "x86_64" && "there is no 32-bit entry but on x86-64";

/** A system call by its number: libc has no function for most of these, or one that adds something. */
function call(name: SyscallName, ...args: Argument[]): Step {
  return ["syscall", syscallNumber(name, ARCHITECTURE)!, ...args];
}

interface Assault {
  /** The last of them is the attack, what comes before prepares it. */
  readonly steps: (place: Place) => readonly Step[];
  /** Without a sandbox only root gets through: as anybody else there is nothing to compare with. */
  readonly isRoots?: boolean;
}

/** How calls fail that a sandbox refuses, or that find nothing to work on inside it. */
const REFUSALS = ["EPERM", "EACCES", "EROFS", "ENOENT", "ESRCH", "ENOTTY", "ENOSYS", "ENXIO", "EXDEV"];

const isRefusal = (result: number | string | undefined) => typeof result === "string" && REFUSALS.includes(result);

/** Each gets through without a sandbox, on a copy of the files, and is refused inside. */
async function allRefused(scene: AttackScene, assaults: Readonly<Record<string, Assault>>): Promise<void> {
  const names = Object.keys(assaults);
  const run = async (place: Place, sandbox: string | null) => {
    const parts = names.map((name) => assaults[name]!.steps(place));
    const { report, stderr } = await scene.hostile(parts.flat(), { place, sandbox });
    assert.ok(report !== null, stderr);
    let last = -1;
    return parts.map((steps) => report.results[last += steps.length]);
  };
  const free = await run(await scene.copy(), null);
  const confined = await run(scene.guarded, scene.policy);
  names.forEach((name, index) => {
    if (IS_ROOT || assaults[name]!.isRoots !== true) {
      assert.ok(!isRefusal(free[index]), `${name} is refused without a sandbox, too: ${free[index]}`);
    }
    assert.ok(isRefusal(confined[index]), `${name} was not refused: ${confined[index]}`);
  });
}

/**
 * Without a sandbox each call reaches the kernel (where it may fail for its arguments). Inside, the filter stops it.
 */
async function allFiltered(scene: AttackScene, calls: Readonly<Record<string, Step | RootsStep>>): Promise<void> {
  const names = Object.keys(calls);
  const steps = names.map((name) => stepOf(calls[name]!));
  const free = await scene.freely(steps);
  const { report, stderr } = await scene.hostile(steps);
  assert.ok(report !== null, stderr);
  names.forEach((name, index) => {
    const isRoots = "roots" in calls[name]!;
    if (IS_ROOT || !isRoots) assert.notEqual(free.results[index], "EPERM", `${name} without a sandbox`);
    assert.equal(report.results[index], "EPERM", name);
  });
}

interface RootsStep {
  readonly roots: Step;
}

const stepOf = (step: Step | RootsStep): Step => "roots" in step ? step.roots : step;

const AT_FDCWD = -100;
const O_RDWR = 2;
const CLONE_NEWUSER = 0x10000000;
const CLONE_NEWNS = 0x20000;
const TIOCSTI = 0x5412;
const F_SETLEASE = 1024;
const F_RDLCK = 0;

attack("no kernel interface gets around the filter", (scene) =>
  allFiltered(scene, {
    io_uring_setup: call("io_uring_setup", 1, 0),
    io_uring_enter: call("io_uring_enter", -1),
    io_uring_register: call("io_uring_register", -1),
    bpf: { roots: call("bpf", 0) },
    userfaultfd: call("userfaultfd", 1),
    perf_event_open: call("perf_event_open", 0),
    open_by_handle_at: { roots: call("open_by_handle_at", -1, 0) },
    add_key: call("add_key", "user", "attack", "x", 1, -3),
    keyctl: call("keyctl", 0, -3),
    request_key: call("request_key", "user", "attack-no-such-key", 0, 0),
    ptrace: call("ptrace", 0x4206, -1),
    process_vm_readv: call("process_vm_readv", 1),
    process_vm_writev: call("process_vm_writev", 1),
    pidfd_getfd: call("pidfd_getfd", -1),
    "typing on a terminal": ["ioctl", -1, TIOCSTI, "x"],
  }));

attack("no mount and no namespace undoes the view", (scene) =>
  allFiltered(scene, {
    mount: { roots: call("mount", "none", "/no-such-place", "tmpfs", 0, 0) },
    umount2: { roots: call("umount2", "/no-such-place", 0) },
    pivot_root: { roots: call("pivot_root", "/no-such-place", "/no-such-place") },
    fsopen: { roots: call("fsopen", "tmpfs", 0) },
    fsconfig: call("fsconfig", -1, 0, 0, 0, 0),
    fsmount: { roots: call("fsmount", -1) },
    fspick: { roots: call("fspick", AT_FDCWD, "/no-such-place", 0) },
    open_tree: call("open_tree", AT_FDCWD, "/no-such-place", 0),
    move_mount: { roots: call("move_mount", -1, "", -1, "", 0x44) },
    mount_setattr: { roots: call("mount_setattr", AT_FDCWD, "/no-such-place", 0, { space: 32 }, 32) },
    setns: call("setns", -1, 0),
    "a new user namespace": call("unshare", CLONE_NEWUSER),
    "a new user namespace for a child": call("clone", CLONE_NEWUSER | 0x11, 0, 0, 0, 0),
    "a new mount namespace": { roots: ["unshare", CLONE_NEWNS] },
    chroot: { roots: ["chroot", "."] },
  }));

attack("calls by way of the 32-bit entry end the process before they are made", async (scene) => {
  const SOCKET = 359;
  const AF_INET = 2;
  const steps: Step[] = [{ int80: [SOCKET, AF_INET, 1, 0] }];
  const [socket] = (await scene.freely(steps)).results;
  assert.equal(typeof socket, "number", `without a sandbox: ${socket}`);
  const { report, status } = await scene.hostile(steps);
  assert.equal(report, null);
  const SIGSYS = 31;
  // bubblewrap turns a signal into 128 and its number.
  const expected = scene.backend === "bubblewrap"
    ? { type: "exited", code: 128 + SIGSYS }
    : { type: "signaled", signal: SIGSYS };
  assert.deepEqual(status, expected);
}, { unless: NOT_X86 });

attack("no socket of any kind is made that reaches out", async (scene) => {
  const AF = { UNIX: 1, INET: 2, INET6: 10, NETLINK: 16, PACKET: 17 };
  await allFiltered(scene, {
    "UNIX datagram": ["socket", AF.UNIX, 2, 0],
    "UNIX datagram pair": ["socketpair", AF.UNIX, 2, 0, { space: 8 }],
    INET: ["socket", AF.INET, 1, 0],
    "INET datagram": ["socket", AF.INET, 2, 0],
    INET6: ["socket", AF.INET6, 1, 0],
    NETLINK: ["socket", AF.NETLINK, 3, 0],
    PACKET: { roots: ["socket", AF.PACKET, 3, 0] },
    connect: ["connect", -1, 0, 0],
    bind: ["bind", -1, 0, 0],
  });
});

/** `struct sockaddr_un`. An abstract address is one whose name begins with NUL and ends with the length. */
function unixAddress(name: string): { readonly bytes: readonly number[] } {
  return { bytes: [1, 0, ...new TextEncoder().encode(name), ...(name.startsWith("\0") ? [] : [0])] };
}

function connectTo(name: string): Step[] {
  const address = unixAddress(name);
  return [["socket", 1, 1, 0], ["connect", { back: 1 }, address, address.bytes.length]];
}

attack("a socket in the file system is not connected to", async (scene) => {
  const path = `${scene.ws}/socket`;
  using _listener = Deno.listen({ transport: "unix", path });
  assert.equal((await scene.freely(connectTo(path))).results.at(-1), 0);
  assert.equal((await scene.hostile(connectTo(path))).report?.results.at(-1), "EPERM");
});

attack("an abstract socket is neither connected to nor offered", async (scene) => {
  const name = `\0attack-${crypto.randomUUID()}`;
  const address = unixAddress(name);
  const offer = (): Step[] => [
    ["socket", 1, 1, 0],
    ["bind", { back: 1 }, address, address.bytes.length],
    ["listen", { back: 2 }, 1],
  ];
  const [program, ...args] = hostileArgv([...offer(), ["accept", { back: 3 }, 0, 0], ["pause"]]);
  const listener = new Deno.Command(program!, { args, stdout: "null", stderr: "null" }).spawn();
  try {
    await eventually(
      "the socket is offered",
      () => Deno.readTextFileSync("/proc/net/unix").includes(`@${name.slice(1)}`),
    );
    assert.equal((await scene.hostile(connectTo(name))).report?.results.at(-1), "EPERM");
    assert.equal((await scene.freely(connectTo(name))).results.at(-1), 0);
  } finally {
    listener.kill("SIGKILL");
    await listener.status;
  }
  assert.deepEqual((await scene.freely(offer())).results.slice(1), [0, 0]);
  assert.equal((await scene.hostile(offer())).report?.results[1], "EPERM");
});

attack("shared memory and message queues of the host do not exist inside", async (scene) => {
  const key = 0x41740000 + crypto.getRandomValues(new Uint16Array(1))[0]!;
  const queue = `attack-${crypto.randomUUID()}`;
  const IPC_CREAT = 0o1000;
  const O_CREAT = 0o100;
  const made = await scene.freely([
    ["shmget", key, 4096, IPC_CREAT | 0o600],
    call("mq_open", queue, O_CREAT | O_RDWR, 0o600, 0),
  ]);
  assert.deepEqual(made.results.map((result) => typeof result), ["number", "number"], String(made.results));
  const find: Step[] = [["shmget", key, 0, 0], ["shmat", { back: 1 }, 0, 0], ["shmctl", { back: 2 }, 0, 0]];
  const unlink = call("mq_unlink", queue);
  const { report } = await scene.hostile([...find, unlink]);
  assert.ok(report?.results.every((result) => typeof result === "string"), String(report?.results));
  // Both are still there to be used and removed from outside.
  const { results } = await scene.freely([...find, unlink]);
  assert.ok(results.every((result) => typeof result === "number"), String(results));
});

attack("what is typed into another terminal is not read, and nothing is typed there", async (scene) => {
  const { master, slave, slavePath } = openTerminal({ rows: 24, cols: 80 });
  const type = () => {
    const typed = new TextEncoder().encode("password\n");
    assert.equal(writeFrom(master, typed), typed.length);
  };
  const O_NONBLOCK_NOCTTY = 0o4400;
  const read: Step[] = [["open", slavePath, O_NONBLOCK_NOCTTY], ["read", { back: 1 }, { space: 64, show: true }, 63]];
  const write: Step[] = [["open", slavePath, O_NONBLOCK_NOCTTY | O_RDWR], ["write", { back: 1 }, "x", 1]];
  try {
    type();
    assert.equal((await scene.freely(read)).shown, "password\n");
    assert.equal((await scene.freely(write)).results.at(-1), 1);
    type();
    const { report } = await scene.hostile(read);
    assert.deepEqual([report?.shown, typeof report?.results[0]], ["", "string"]);
    assert.equal(typeof (await scene.hostile(write)).report?.results[0], "string");
  } finally {
    closeDescriptor(slave);
    closeDescriptor(master);
  }
});

attack("nothing is typed on the process's own terminal", async (scene) => {
  const steps: Step[] = [["ioctl", 0, TIOCSTI, "x"]];
  const results = (text: string) => /\{.*\}/.exec(text)?.[0];
  const free = await scene.hostileOnTerminal(steps, null);
  assert.equal(results(free), '{"results":[0],"shown":""}', free);
  const confined = await scene.hostileOnTerminal(steps, scene.policy);
  assert.equal(results(confined), '{"results":["EPERM"],"shown":""}', confined);
}, { unless: refusesTyping() });

/** Newer kernels let nobody do it, without any sandbox, who is not privileged. */
function refusesTyping(): string | null {
  if (IS_ROOT) return null;
  try {
    const setting = Deno.readTextFileSync("/proc/sys/dev/tty/legacy_tiocsti");
    return setting.trim() === "0" ? "this kernel lets nobody type for others" : null;
  } catch {
    return null; // An older kernel, which lets everybody.
  }
}

attack("files outside are not changed through a descriptor that is open for reading", (scene) =>
  allRefused(scene, {
    // A number that network file systems use; any owner may set it.
    "a file's version": {
      steps: ({ out }) => [["open", `${out}/o.txt`, 0], ["ioctl", { back: 1 }, 0x40087602, { words: [4711] }]],
    },
    "a file's flags": {
      steps: ({ out }) => [["open", `${out}/o.txt`, 0], ["ioctl", { back: 1 }, 0x40086602, { words: [0x40] }]],
    },
    "a file's mode": { steps: ({ out }) => [["open", `${out}/o.txt`, 0], ["fchmod", { back: 1 }, 0o777]] },
    "a file's times": { steps: ({ out }) => [["open", `${out}/o.txt`, 0], ["futimens", { back: 1 }, 0]] },
    "a file's attributes": {
      steps: ({ out }) => [["open", `${out}/o.txt`, 0], ["fsetxattr", { back: 1 }, "user.attack", "x", 1, 0]],
    },
    "the descriptor opened again for writing": {
      steps: (
        { out },
      ) => [["open", `${out}/o.txt`, 0], ["dup2", { back: 1 }, 50], ["open", "/proc/self/fd/50", O_RDWR]],
    },
    "a lease that holds up writers": {
      steps: ({ out }) => [["open", `${out}/o.txt`, 0], ["fcntl", { back: 1 }, F_SETLEASE, F_RDLCK]],
    },
    "a hard link by descriptor": {
      steps: ({ out, ws }) => [
        ["open", `${out}/o.txt`, 0],
        ["dup2", { back: 1 }, 50],
        ["linkat", AT_FDCWD, "/proc/self/fd/50", AT_FDCWD, `${ws}/hard`, 0x400],
      ],
    },
    "a hard link by name": { steps: ({ out, ws }) => [["link", `${out}/o.txt`, `${ws}/harder`]] },
    "an exchange of names": {
      steps: ({ out, ws }) => [["renameat2", AT_FDCWD, `${ws}/in.txt`, AT_FDCWD, `${out}/o.txt`, 2]],
    },
    "a device": { steps: ({ out }) => [["mknod", `${out}/null`, 0o20666, 0x103]], isRoots: true },
    "a fifo": { steps: ({ out }) => [["mknod", `${out}/fifo`, 0o10666, 0]] },
  }));

attack("the kernel's settings are not written, whoever owns them", async (scene) => {
  // Opened for writing, and nothing written: without a sandbox that must not do anything.
  const places = "/proc/sys/kernel/* /proc/sys/vm/* /proc/irq/*/smp_affinity /proc/1/oom_score_adj " +
    "/sys/kernel/mm/*/* /sys/fs/cgroup/cgroup.procs /sys/fs/cgroup/*/cgroup.procs";
  const script = `for file in ${places}; do [ -f "$file" ] && (: >> "$file") 2>/dev/null && echo "$file"; done; true`;
  const free = await scene.run(script, { sandbox: null });
  if (IS_ROOT) assert.match(free.stdout, /^\/proc\/sys\/kernel\/core_pattern$/m);
  const { stdout, code } = await scene.run(script);
  // What an ordinary user may set there are the limits of the sandbox's own namespaces, and its own first process.
  const ownNamespaces = /^\/proc\/(sys\/kernel\/(auto_msgmni|msg\w+|sem|shm\w+|ns_last_pid|pid_max)|1\/oom_score_adj)$/;
  const isOwn = (path: string) => scene.backend === "bubblewrap" && ownNamespaces.test(path);
  const written = stdout.split("\n").filter((path) => path !== "" && !isOwn(path));
  assert.deepEqual([written, code], [[], 0]);
});

attack("a process has only the descriptors 0 to 2, and finds no usable ones of other processes", async (scene) => {
  // One program and no pipeline: another that is just being loaded has its libraries open.
  const script = "exec ls -l /proc/[0-9]*/fd/ 2>/dev/null";
  // A root's null device lies on a mount of its own, which has no place: its path there is the shortest.
  const leadsNowhere = (target: string) =>
    /^(\/dev\/null|pipe:\[\d+\]|anon_inode:\[eventfd\]|\/proc\/.*)$/.test(target) || (IS_ROOT && target === "/");
  const targets = (text: string) => Array.from(text.matchAll(/ -> (.*)$/gm), ([, target]) => target!);
  assert.ok(!targets((await scene.run(script, { sandbox: null })).stdout).every(leadsNowhere));
  const { stdout } = await scene.run(script);
  assert.deepEqual(targets(stdout).filter((target) => !leadsNowhere(target)), []);
  assert.match((await scene.run("exec ls -lL /proc/self/fd/0")).stdout, /^c.* 1, +3 /, "it is the null device");
  const own = await scene.run("cd /proc/self/fd && echo *");
  assert.match(own.stdout, /^0 1 2( \d+)?\n$/);
});

attack("a process on a terminal controls only its own groups", async (scene) => {
  const steps: Step[] = [["setpgid", Deno.pid, 0], ["tcsetpgrp", 0, Deno.pid]];
  const text = await scene.hostileOnTerminal(steps, scene.policy);
  assert.match(text, /"results":\["(ESRCH|EPERM)","(ESRCH|EPERM|EINVAL)"\]/);
});
