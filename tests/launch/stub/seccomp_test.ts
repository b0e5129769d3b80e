/**
 * The system call filter, run call by call on an interpreter of its program.
 *
 * More than 300 lines: the interpreter, and tables of calls.
 */

import assert from "node:assert/strict";
import { CLOSE_MOUNTS, networkFilter, seccompProgram } from "../../../src/launch/stub/seccomp.ts";
import { type Architecture, type SyscallName, syscallNumber } from "../../../src/launch/stub/syscalls.ts";

/** What the kernel shows a filter of one call. */
interface Call {
  readonly architecture: number;
  readonly number: number;
  readonly args?: readonly bigint[];
}

const ALLOW = 0x7fff0000;
const KILL_PROCESS = 0x80000000;
const EPERM = 0x00050001;
const ENOTTY = 0x00050019;
const ENOSYS = 0x00050026;
const NOTIFY = 0x7fc00000;

/** Classic BPF as the kernel runs it, for the instructions that may occur; anything else is a failure. */
function evaluate(program: Uint8Array, call: Call): number {
  const data = new DataView(new ArrayBuffer(64));
  data.setUint32(0, call.number, true);
  data.setUint32(4, call.architecture, true);
  (call.args ?? []).forEach((arg, index) => data.setBigUint64(16 + index * 8, BigInt.asUintN(64, arg), true));
  const view = new DataView(program.buffer, program.byteOffset, program.byteLength);
  assert.equal(program.length % 8, 0);
  let accumulator = 0;
  for (let at = 0; at < program.length / 8; at++) {
    const code = view.getUint16(at * 8, true);
    const ifTrue = view.getUint8(at * 8 + 2);
    const ifFalse = view.getUint8(at * 8 + 3);
    const k = view.getUint32(at * 8 + 4, true);
    switch (code) {
      case 0x20: // ld [k]
        assert.ok(k % 4 === 0 && k < 64, `load from ${k}`);
        accumulator = data.getUint32(k, true);
        break;
      case 0x54: // and k
        accumulator = (accumulator & k) >>> 0;
        break;
      case 0x15: // jeq
        at += accumulator === k ? ifTrue : ifFalse;
        break;
      case 0x35: // jge
        at += accumulator >= k ? ifTrue : ifFalse;
        break;
      case 0x45: // jset
        at += (accumulator & k) !== 0 ? ifTrue : ifFalse;
        break;
      case 0x06: // ret
        return k;
      default:
        assert.fail(`instruction ${code.toString(16)}`);
    }
  }
  assert.fail("ran off the end");
}

const ARCHITECTURES: readonly (readonly [Architecture, number])[] = [["x86_64", 0xc000003e], ["aarch64", 0xc00000b7]];
const I386 = 0x40000003;
const ARM = 0x40000028;

type Case = readonly [SyscallName, readonly number[], restricted: number, enabled: number];

const AF_UNIX = 1;
const STREAM = 1;
const DGRAM = 2;
const SEQPACKET = 5;
const NONBLOCK_CLOEXEC = 0x80800;
const NEWUSER = 0x10000000;
const TIOCSTI = 0x5412;

const CASES: readonly Case[] = [
  ["socket", [AF_UNIX, STREAM], ALLOW, ALLOW],
  ["socket", [AF_UNIX, STREAM | NONBLOCK_CLOEXEC], ALLOW, ALLOW],
  ["socket", [AF_UNIX, SEQPACKET | NONBLOCK_CLOEXEC], ALLOW, ALLOW],
  ["socket", [AF_UNIX, DGRAM], EPERM, ALLOW],
  ["socket", [AF_UNIX, 3], EPERM, ALLOW], // SOCK_RAW, which the kernel turns into a datagram socket
  ["socket", [2, STREAM], EPERM, ALLOW], // INET
  ["socket", [2, DGRAM], EPERM, ALLOW],
  ["socket", [10, STREAM], EPERM, ALLOW], // INET6
  ["socket", [16, DGRAM], EPERM, ALLOW], // NETLINK
  ["socket", [17, 3], EPERM, ALLOW], // PACKET
  ["socket", [38, SEQPACKET], EPERM, ALLOW], // ALG
  ["socket", [40, STREAM], EPERM, ALLOW], // VSOCK
  ["socketpair", [AF_UNIX, STREAM], ALLOW, ALLOW],
  ["socketpair", [AF_UNIX, DGRAM], EPERM, ALLOW],
  ["socketpair", [2, STREAM], EPERM, ALLOW],
  ["connect", [], EPERM, ALLOW],
  ["bind", [], EPERM, ALLOW],
  ["ptrace", [], EPERM, EPERM],
  ["process_vm_readv", [], EPERM, EPERM],
  ["process_vm_writev", [], EPERM, EPERM],
  ["pidfd_getfd", [], EPERM, EPERM],
  ["io_uring_setup", [], EPERM, EPERM],
  ["io_uring_enter", [], EPERM, EPERM],
  ["io_uring_register", [], EPERM, EPERM],
  ["bpf", [], EPERM, EPERM],
  ["perf_event_open", [], EPERM, EPERM],
  ["userfaultfd", [], EPERM, EPERM],
  ["keyctl", [], EPERM, EPERM],
  ["add_key", [], EPERM, EPERM],
  ["request_key", [], EPERM, EPERM],
  ["open_by_handle_at", [], EPERM, EPERM],
  ["setns", [], EPERM, EPERM],
  ["mount", [], EPERM, EPERM],
  ["umount2", [], EPERM, EPERM],
  ["pivot_root", [], EPERM, EPERM],
  ["move_mount", [], EPERM, EPERM],
  ["open_tree", [], EPERM, EPERM],
  ["open_tree_attr", [], EPERM, EPERM],
  ["fsopen", [], EPERM, EPERM],
  ["fsconfig", [], EPERM, EPERM],
  ["fsmount", [], EPERM, EPERM],
  ["fspick", [], EPERM, EPERM],
  ["mount_setattr", [], EPERM, EPERM],
  ["clone3", [], ENOSYS, ENOSYS],
  ["clone", [0x11], ALLOW, ALLOW],
  ["clone", [0x11 | NEWUSER], EPERM, EPERM],
  ["clone", [0x3d0f00], ALLOW, ALLOW], // a thread
  ["unshare", [0x20000], ALLOW, ALLOW],
  ["unshare", [0x20000 | NEWUSER], EPERM, EPERM],
  ["ioctl", [0, TIOCSTI], EPERM, EPERM],
  ["ioctl", [0, 0x541c], EPERM, EPERM], // TIOCLINUX
  ["ioctl", [0, 0x5413], ALLOW, ALLOW], // TIOCGWINSZ
  ["ioctl", [0, 0x40086602], ALLOW, ALLOW], // FS_IOC_SETFLAGS
  ["fcntl", [0, 1024], EPERM, EPERM], // F_SETLEASE
  ["fcntl", [0, 1040], EPERM, EPERM], // F_SETDELEG
  ["fcntl", [0, 4], ALLOW, ALLOW], // F_SETFL
  ["shmget", [], ALLOW, ALLOW],
  ["prlimit64", [1], ALLOW, ALLOW],
  ["setpriority", [2, 0], ALLOW, ALLOW],
  ["execve", [], ALLOW, ALLOW],
  ["write", [], ALLOW, ALLOW],
  ["fchmodat", [], ALLOW, ALLOW],
  ["utimensat", [], ALLOW, ALLOW],
];

Deno.test("seccompProgram() answers every call as the table says, on both architectures", () => {
  for (const [architecture, audit] of ARCHITECTURES) {
    for (const network of ["restricted", "enabled"] as const) {
      const program = seccompProgram({ architecture, network });
      for (const [name, args, restricted, enabled] of CASES) {
        const number = syscallNumber(name, architecture);
        assert.ok(number !== undefined, name);
        const call = { architecture: audit, number, args: args.map(BigInt) };
        const expected = network === "restricted" ? restricted : enabled;
        assert.equal(evaluate(program, call), expected, `${architecture} ${network} ${name}(${args})`);
      }
    }
  }
});

Deno.test("seccompProgram() lets mounts be cut off where it is told to, by one exact call and no other", () => {
  for (const [architecture, audit] of ARCHITECTURES) {
    const mount = (flags: bigint, letsMountsBeClosed: boolean) => {
      const program = seccompProgram({ architecture, network: "restricted", letsMountsBeClosed });
      const args = [0n, 0n, 0n, flags];
      return evaluate(program, { architecture: audit, number: syscallNumber("mount", architecture)!, args });
    };
    const closing = BigInt(CLOSE_MOUNTS);
    assert.equal(mount(closing, true), ALLOW);
    assert.equal(mount(closing, false), EPERM);
    const MS_REC_SHARED = 0x104000n;
    for (const flags of [0n, 0x1000n, MS_REC_SHARED, closing | 1n, closing | (1n << 32n), closing & ~0x4000n]) {
      assert.equal(mount(flags, true), EPERM, flags.toString(16));
    }
    // Whatever comes after it in the program is answered as before.
    const program = seccompProgram({ architecture, network: "restricted", letsMountsBeClosed: true });
    for (const [name, args, restricted] of CASES.filter(([name]) => name !== "mount")) {
      const call = { architecture: audit, number: syscallNumber(name, architecture)!, args: args.map(BigInt) };
      assert.equal(evaluate(program, call), restricted, `${architecture} ${name}(${args})`);
    }
  }
});

/** Refused for the sake of the network alone. */
const isNetworkRefusal = ([, , restricted, enabled]: Case) => restricted === EPERM && enabled === ALLOW;

Deno.test("seccompProgram() that notifies does so for the network, and answers all else as before", () => {
  assert.equal(CASES.filter(isNetworkRefusal).length, 13);
  for (const [architecture, audit] of ARCHITECTURES) {
    const notifying = seccompProgram({ architecture, network: "restricted", networkRefusal: "notify" });
    for (const row of CASES) {
      const [name, args, restricted] = row;
      const call = { architecture: audit, number: syscallNumber(name, architecture)!, args: args.map(BigInt) };
      const expected = isNetworkRefusal(row) ? NOTIFY : restricted;
      assert.equal(evaluate(notifying, call), expected, `${architecture} ${name}(${args})`);
    }
    // With a network there is nothing to notify of.
    assert.deepEqual(
      seccompProgram({ architecture, network: "enabled", networkRefusal: "notify" }),
      seccompProgram({ architecture, network: "enabled" }),
    );
  }
});

Deno.test("networkFilter() refuses the network, foreign calls, and nothing else", () => {
  for (const [architecture, audit] of ARCHITECTURES) {
    for (const [refusal, answer] of [["errno", EPERM], ["notify", NOTIFY]] as const) {
      const filter = networkFilter(architecture, refusal);
      for (const row of CASES) {
        const [name, args] = row;
        const call = { architecture: audit, number: syscallNumber(name, architecture)!, args: args.map(BigInt) };
        const expected = isNetworkRefusal(row) ? answer : ALLOW;
        assert.equal(evaluate(filter, call), expected, `${architecture} ${name}(${args})`);
      }
      for (const foreign of [I386, ARM, 0]) {
        assert.equal(evaluate(filter, { architecture: foreign, number: 41 }), KILL_PROCESS);
      }
    }
  }
  assert.equal(evaluate(networkFilter("x86_64", "notify"), { architecture: 0xc000003e, number: 0x40000029 }), ENOSYS);
});

Deno.test("seccompProgram() allows every call it does not name", () => {
  for (const [architecture, audit] of ARCHITECTURES) {
    const program = seccompProgram({ architecture, network: "restricted" });
    const named = new Set(CASES.map(([name]) => syscallNumber(name, architecture)));
    for (let number = 0; number < 600; number++) {
      if (!named.has(number)) assert.equal(evaluate(program, { architecture: audit, number }), ALLOW, `call ${number}`);
    }
  }
});

Deno.test("seccompProgram() compares only the half of an argument that the kernel looks at", () => {
  const program = seccompProgram({ architecture: "x86_64", network: "restricted" });
  const evaluateOn = (name: SyscallName, args: bigint[]) =>
    evaluate(program, { architecture: 0xc000003e, number: syscallNumber(name, "x86_64")!, args });
  const rubbish = 0xdeadbeef00000000n;
  assert.equal(evaluateOn("ioctl", [0n, rubbish | 0x5412n]), EPERM);
  assert.equal(evaluateOn("socket", [rubbish | 2n, 1n]), EPERM);
  assert.equal(evaluateOn("socket", [rubbish | 1n, rubbish | 1n]), ALLOW);
  assert.equal(evaluateOn("socket", [rubbish | 1n, rubbish | 2n]), EPERM);
  assert.equal(evaluateOn("unshare", [rubbish | BigInt(NEWUSER)]), EPERM);
});

Deno.test("seccompProgram() kills a process that calls in the numbers of another architecture", () => {
  for (const [architecture] of ARCHITECTURES) {
    const program = seccompProgram({ architecture, network: "enabled" });
    for (
      const foreign of [
        I386,
        ARM,
        0,
        ...ARCHITECTURES.filter(([name]) => name !== architecture).map(([, id]) => id),
      ]
    ) {
      assert.equal(evaluate(program, { architecture: foreign, number: 4 }), KILL_PROCESS);
    }
  }
});

Deno.test("seccompProgram() knows no x32 calls", () => {
  const program = seccompProgram({ architecture: "x86_64", network: "enabled" });
  for (const number of [0x40000000, 0x40000029, 0x40000000 | 520, 0xffffffff]) {
    assert.equal(evaluate(program, { architecture: 0xc000003e, number }), ENOSYS);
  }
});

Deno.test("seccompProgram() can freeze owners, modes, times and attributes", () => {
  const frozen: SyscallName[] = [
    "chmod",
    "fchmod",
    "fchmodat",
    "fchmodat2",
    "chown",
    "lchown",
    "fchown",
    "fchownat",
    "utime",
    "utimes",
    "futimesat",
    "utimensat",
    "setxattr",
    "lsetxattr",
    "fsetxattr",
    "setxattrat",
    "removexattr",
    "lremovexattr",
    "fremovexattr",
    "removexattrat",
    "file_setattr",
  ];
  for (const [architecture, audit] of ARCHITECTURES) {
    const program = seccompProgram({ architecture, network: "enabled", withoutNamespaces: true, changesNoFiles: true });
    const numbers = frozen.map((name) => syscallNumber(name, architecture)).filter((number) => number !== undefined);
    assert.ok(numbers.length >= 15);
    for (const number of numbers) assert.equal(evaluate(program, { architecture: audit, number }), EPERM);
  }
});

/** What is left to a process that has neither mounts nor namespaces of its own. */
const ALONE: readonly (readonly [SyscallName, readonly number[], number])[] = [
  ["shmget", [], EPERM],
  ["shmat", [], EPERM],
  ["shmctl", [], EPERM],
  ["semget", [], EPERM],
  ["semop", [], EPERM],
  ["semtimedop", [], EPERM],
  ["semctl", [], EPERM],
  ["msgget", [], EPERM],
  ["msgsnd", [], EPERM],
  ["msgrcv", [], EPERM],
  ["msgctl", [], EPERM],
  ["mq_open", [], EPERM],
  ["mq_unlink", [], EPERM],
  ...(["prlimit64", "sched_setparam", "sched_setscheduler", "sched_setaffinity", "sched_setattr"] as const).flatMap(
    (name) => [[name, [0], ALLOW], [name, [1], EPERM], [name, [-1], EPERM]] as const,
  ),
  ["setpriority", [0, 0], ALLOW],
  ["setpriority", [0, 1], EPERM],
  ["setpriority", [1, 0], ALLOW],
  ["setpriority", [1, 1], EPERM],
  ["setpriority", [2, 0], EPERM], // all processes of the user
  ["ioprio_set", [1, 0], ALLOW],
  ["ioprio_set", [1, 1], EPERM],
  ["ioprio_set", [3, 0], EPERM],
  ["ioctl", [0, TIOCSTI], EPERM],
  ["ioctl", [0, 0x5413], ALLOW], // TIOCGWINSZ
  ["ioctl", [0, 0x541b], ALLOW], // FIONREAD
  ["ioctl", [0, 0x80045430], ALLOW], // TIOCGPTN
  ["ioctl", [0, 0x8912], ALLOW], // SIOCGIFCONF
  ["ioctl", [0, 0x40086602], ENOTTY], // FS_IOC_SETFLAGS
  ["ioctl", [0, 0x401c5820], ENOTTY], // FS_IOC_FSSETXATTR
  ["ioctl", [0, 0x40087602], ENOTTY], // FS_IOC_SETVERSION
  ["ioctl", [0, 0x40806685], ENOTTY], // FS_IOC_ENABLE_VERITY
  ["ioctl", [0, 0x5000940e], ENOTTY], // BTRFS_IOC_SUBVOL_CREATE
];

Deno.test("seccompProgram() stands in for namespaces where there are none", () => {
  for (const [architecture, audit] of ARCHITECTURES) {
    const program = seccompProgram({ architecture, network: "enabled", withoutNamespaces: true, changesNoFiles: true });
    for (const [name, args, expected] of ALONE) {
      const call = { architecture: audit, number: syscallNumber(name, architecture)!, args: args.map(BigInt) };
      assert.equal(evaluate(program, call), expected, `${architecture} ${name}(${args})`);
    }
  }
});

Deno.test("seccompProgram() stays far below the kernel's limit of 4096 instructions", () => {
  const longest = seccompProgram({
    architecture: "x86_64",
    network: "restricted",
    withoutNamespaces: true,
    changesNoFiles: true,
  });
  assert.ok(longest.length / 8 < 256, `${longest.length / 8} instructions`);
});
