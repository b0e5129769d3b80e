/**
 * The launch stub: a program of a few hundred bytes that runs inside the sandbox just before the command. It is
 * generated here, needs no library and no file of the host, and takes a fraction of a millisecond.
 *
 * It exists because some steps must be taken by the confined child itself, after the wrapper and before the command:
 * - The wrapper runs with the signals of the terminal and of clients blocked, so that an interrupt for the group
 *   reaches the command and does not kill the wrapper (and everything inside with it). The stub unblocks them for the
 *   command.
 * - It reports over a descriptor that the sandbox is complete, and whether the command could be executed. A wrapper
 *   that failed reports neither, so its failure is never mistaken for the command's.
 * - It waits, when asked to, until the server has checked the sandbox from outside and lets it go on.
 * - It cuts off the sandbox's mounts from later mounts of the host, which the wrapper leaves connected, and gives up
 *   the capabilities it kept for that.
 * - It can be made to wait before the command is known (`late_command.ts`), so that the command does not wait for it.
 * - It gives the command any `argv[0]`, which older versions of bubblewrap cannot.
 * - It removes the network with a filter that has a listener, and sends the listener with its report. The server then
 *   answers the calls that the filter refuses, and so knows of them. The kernel closes the stub's own copy of the
 *   listener, and the descriptor of the report, when the stub becomes the command.
 * - Without a wrapper it restricts itself (capabilities, no new privileges, Landlock, seccomp) and then becomes the
 *   command: the child is restricted from its start, and no thread of the server ever is.
 *
 * Its arguments: `argv[1]` is the program's path, `argv[2]` and on are the program's arguments, `argv[0]` first. Its
 * environment is the program's.
 *
 * More than 300 lines: one program, written in the order in which it runs.
 */

import type { ChildStatus } from "../../os/children/child_reaping.ts";
import { createEmitter } from "./create_emitter.ts";
import { COMMAND_ADDRESS, COMMAND_BYTES, COMMAND_PARTS } from "./late_command.ts";
import { align, type Emitter, END_REPORT_BYTES, FAILURE_REPORT_BYTES, type ForkingEmitter } from "./machine_code.ts";
import { enterNamespaces, goOnInChild, namespaceConstants, namespaceLayout } from "./namespace_code.ts";
import { LAST_PIDS, type NamespaceOptions } from "./namespace_steps.ts";
import { CLOSE_DEVICE, CLOSE_MOUNTS, FILTER_HEADER_BYTES, SECCOMP_SET_MODE_FILTER } from "./seccomp.ts";
import { type Architecture, type SyscallName, syscallNumber } from "./syscalls.ts";

export interface StubOptions {
  readonly architecture: Architecture;
  /** Where it reports: open for writing, and a socket if a listener is to be sent. The command does not inherit it. */
  readonly reportDescriptor: number;
  /** Whether it waits for a byte after its report. If the socket ends first, the stub ends too. */
  readonly awaitsGo?: boolean;
  /**
   * The command comes in this file and not in the stub's own arguments. It is there before the stub may continue. Needs
   * `awaitsGo`.
   */
  readonly commandDescriptor?: number;
  /** What becomes the command's standard output and error, if those that the stub has are not the command's. */
  readonly outputs?: readonly [stdout: number, stderr: number];
  /** Further descriptors that the command must not inherit. */
  readonly closeOnExec?: readonly number[];
  /** Signals, by number, that are blocked when the command starts. Only tests set any. */
  readonly blockedSignals?: readonly number[];
  /**
   * Give up every capability, also for what the program starts; `required` fails where that is not possible. Root needs
   * this, because some capabilities bypass the restrictions below (CAP_PERFMON reads any process's environment).
   */
  readonly dropCapabilities?: "required" | "ifPossible";
  /**
   * Cut off all mounts from the host's. For a stub that was given `CLOSING_CAPABILITIES` in its own namespace, and
   * keeps none. Where the system does not allow it, mounts stay as they are.
   */
  readonly closesMounts?: boolean;
  /** Paths of devices whose modes and owners are the host's, and nobody inside may change. Needs `closesMounts`. */
  readonly readOnlyDevices?: readonly string[];
  /** A Landlock ruleset to be bound by. The descriptor is closed for the command. */
  readonly landlockDescriptor?: number;
  /** A filter to be bound by, as `seccompProgram` makes it. */
  readonly seccomp?: Uint8Array<ArrayBuffer>;
  /** Needs `seccomp`, which is installed instead if the kernel offers no listener; unless the listener is required. */
  readonly listening?: ListeningFilter;
  /** The command's mask for the modes of new files; otherwise it is inherited. */
  readonly umask?: number;
  /** The command's resource limits, where they are not to be inherited. One that the system refuses stays as it was. */
  readonly limits?: readonly StubLimit[];
  /**
   * Stay behind as the parent of the command, and tell there how it ended (`parseEndReport`), until nothing is left of
   * what it started. The command does not inherit it. Only for x86-64.
   */
  readonly endDescriptor?: number;
  /**
   * Open for writing on `ns_last_pid`: let the numbers of the command's processes begin where the host's seldom are. In
   * a file that a command writes they then hardly ever name a process of the host. Needs `closesMounts`.
   */
  readonly lastPidDescriptor?: number;
  /**
   * Make the sandbox first: there is no wrapper. The stub then is three processes, of which the second is the first
   * inside the sandbox, and only the third becomes the command. Only for x86-64.
   */
  readonly namespaces?: NamespaceOptions;
}

export interface StubLimit {
  /** As the kernel numbers them. */
  readonly resource: number;
  readonly soft: bigint;
  readonly hard: bigint;
}

export const RLIMIT_NPROC = 6;

/**
 * Bounds what is inside a sandbox with a user namespace of its own, where the kernel counts nothing but that. It does not
 * bind the host's root: the kernel exempts that user, whatever capabilities it has lost.
 */
export function processLimits(maxProcesses: number | undefined): StubLimit[] {
  if (maxProcesses === undefined) return [];
  return [{ resource: RLIMIT_NPROC, soft: BigInt(maxProcesses), hard: BigInt(maxProcesses) }];
}

/** A filter with a listener. */
export interface ListeningFilter {
  readonly seccomp: Uint8Array<ArrayBuffer>;
  /** The descriptor number for the listener: one that the stub has and no longer needs. */
  readonly descriptor: number;
  /** Without a listener nothing is executed. */
  readonly isRequired?: boolean;
}

/** What the stub was doing when it failed. One letter each on the wire. */
const STAGES = {
  O: "take its output over",
  U: "make its namespaces",
  V: "set up what is inside",
  P: "protect its devices",
  C: "give up capabilities",
  N: "forbid new privileges",
  L: "apply the Landlock rules",
  S: "install the system call filter",
  W: "supervise the programs it starts",
  G: "wait for the signal to go on",
  M: "take its command over",
  D: "enter its working directory",
  E: "execute the program",
} as const;
type Stage = keyof typeof STAGES;

/** Those at which a system refuses what others allow. The rest depends on the server, the command or the moment. */
const STAGES_OF_THE_SYSTEM: readonly Stage[] = ["U", "V", "P", "C", "N", "L", "S", "W"];

/** Sent when only the execution is left, and, if awaited, the permission for it. */
export const READY = 0x52; // "R"

/** The stub's exit code when it could not become the program; shells use the same. */
const EXIT_NOT_EXECUTED = 126;

/** What `closesMounts` needs: the first to cut off the mounts, the second so that nobody can use the first later. */
export const CLOSING_CAPABILITIES = { CAP_SYS_ADMIN: 21, CAP_SETPCAP: 8 } as const;

/** `_LINUX_CAPABILITY_VERSION_3`: two words for each set. */
const CAPABILITY_VERSION = 0x20080522;

const STDOUT = 1;
const SIG_SETMASK = 2;
const F_SETFD = 2;
const FD_CLOEXEC = 1;
const PR_SET_SECUREBITS = 28;
/** Root has no special rights when it executes something, and that cannot be changed any more. */
const SECUREBITS_NO_PRIVILEGED_ROOT = 0xef;
const PR_CAP_AMBIENT = 47;
const PR_CAP_AMBIENT_CLEAR_ALL = 4;
const PR_CAPBSET_DROP = 24;
const PR_SET_NO_NEW_PRIVS = 38;
const PR_SET_CHILD_SUBREAPER = 36;
/** A listener whose calls only a killing signal can interrupt: others would make programs see EINTR. */
const LISTENER_FLAGS = 0x08 | 0x20;
const O_CLOEXEC = 0o2000000;
const PROT_READ = 1;
const MAP_PRIVATE_FIXED_NOREPLACE = 0x100002;
const SOL_SOCKET = 1;
const SCM_RIGHTS = 1;
/** The kernel's signal set: 64 bits. */
const SIGNAL_SET_BYTES = 8;

/** The stub as a complete ELF program. */
export function launchStub(options: StubOptions): Uint8Array<ArrayBuffer> {
  // The data follows the code, so its address depends on the code's length. So the code is assembled once to measure
  // it. The placeholder address has the same size as the real one, because longer numbers take more instructions.
  const measured = assemble(options, CODE_ADDRESS);
  const dataAddress = CODE_ADDRESS + align(measured.length);
  const code = assemble(options, dataAddress);
  if (code.length !== measured.length) throw new Error("the launch stub's code changed its length");
  return staticProgram(options.architecture, code, dataOf(options, dataAddress));
}

function assemble(options: StubOptions, dataAddress: number): Uint8Array<ArrayBuffer> {
  const emitter = createEmitter(options.architecture);
  const call = (name: SyscallName, ...values: number[]): void => {
    values.forEach((value, index) => emitter.argument(index, value));
    emitter.systemCall(numberOf(name, options.architecture));
  };
  const failures: { stage: Stage; jump: ReturnType<Emitter["jumpIfFailed"]> }[] = [];
  const orFail = (stage: Stage): void => void failures.push({ stage, jump: emitter.jumpIfFailed() });
  const data = dataLayout(options, dataAddress);

  emitter.keepStart();
  if (options.namespaces !== undefined) {
    if (options.architecture !== "x86_64") throw new Error(`no namespaces are made on ${options.architecture}`);
    const { endDescriptor } = options;
    enterNamespaces(emitter as ForkingEmitter, options.namespaces, {
      ...{ call, orFail, endDescriptor },
      data: data.namespaces,
    });
  }
  const staysBehind = options.endDescriptor !== undefined && options.namespaces === undefined;
  // Who stays behind must not be ended by what is sent to the command's group.
  const takeSignals = (): void => call("rt_sigprocmask", SIG_SETMASK, data.signalSet, 0, SIGNAL_SET_BYTES);
  if (!staysBehind) takeSignals();
  if (options.umask !== undefined) call("umask", options.umask);
  options.limits?.forEach(({ resource }, index) => {
    call("prlimit64", 0, resource, data.limits + index * LIMIT_BYTES, 0);
  });
  const { reportDescriptor, landlockDescriptor, endDescriptor, lastPidDescriptor, closeOnExec = [] } = options;
  const optional = [landlockDescriptor, endDescriptor, lastPidDescriptor].filter((number) => number !== undefined);
  const { outputs = [] } = options;
  const own = [reportDescriptor, ...optional, ...outputs, ...closeOnExec];
  for (const descriptor of own) call("fcntl", descriptor, F_SETFD, FD_CLOEXEC);
  outputs.forEach((descriptor, index) => {
    call("dup3", descriptor, STDOUT + index, 0);
    orFail("O");
  });
  if (options.dropCapabilities !== undefined) {
    call("prctl", PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    call("prctl", PR_SET_SECUREBITS, SECUREBITS_NO_PRIVILEGED_ROOT, 0, 0, 0);
    if (options.dropCapabilities === "required") orFail("C");
  }
  if (options.closesMounts === true) {
    for (const path of data.devices) {
      call("mount", 0, path, 0, CLOSE_DEVICE, 0);
      orFail("P");
    }
    call("mount", 0, data.rootPath, 0, CLOSE_MOUNTS, 0);
    if (lastPidDescriptor !== undefined) {
      // A system with fewer numbers refuses the last.
      data.lastPids.forEach((text, index) => call("pwrite64", lastPidDescriptor, text, LAST_PIDS[index]!.length, 0));
    }
    for (const capability of Object.values(CLOSING_CAPABILITIES)) call("prctl", PR_CAPBSET_DROP, capability, 0, 0, 0);
    call("prctl", PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    call("capset", data.capabilityHeader, data.capabilities);
    orFail("C");
  }
  if (landlockDescriptor !== undefined || options.seccomp !== undefined || options.listening !== undefined) {
    call("prctl", PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    orFail("N");
  }
  if (landlockDescriptor !== undefined) {
    call("landlock_restrict_self", landlockDescriptor, 0);
    orFail("L");
  }
  let afterReport: ReturnType<Emitter["jump"]> | null = null;
  if (options.listening !== undefined) {
    call("seccomp", SECCOMP_SET_MODE_FILTER, LISTENER_FLAGS, data.listeningHeader);
    const isRequired = options.listening.isRequired === true;
    if (isRequired) orFail("W");
    const withoutListener = isRequired ? null : emitter.jumpIfFailed();
    emitter.resultAsFirstArgument();
    emitter.argument(1, options.listening.descriptor);
    emitter.argument(2, O_CLOEXEC);
    emitter.systemCall(numberOf("dup3", options.architecture));
    orFail("S");
    call("sendmsg", reportDescriptor, data.message, 0);
    orFail("S");
    afterReport = emitter.jump();
    withoutListener?.land();
  }
  if (options.seccomp !== undefined && options.listening?.isRequired !== true) {
    call("seccomp", SECCOMP_SET_MODE_FILTER, 0, data.filterHeader);
    orFail("S");
  }
  call("write", reportDescriptor, data.ready, 1);
  afterReport?.land();
  if (options.awaitsGo === true) {
    emitter.argument(0, reportDescriptor);
    emitter.scratchAddress();
    emitter.argument(2, 1);
    emitter.systemCall(numberOf("read", options.architecture));
    failures.push({ stage: "G", jump: emitter.jumpUnlessPositive() });
  }
  if (staysBehind) {
    if (options.architecture !== "x86_64") throw new Error(`nobody stays behind on ${options.architecture}`);
    // Orphans of the command become its children, so that it knows when nothing is left.
    call("prctl", PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    goOnInChild(emitter as ForkingEmitter, { call, orFail }, { endDescriptor });
    takeSignals();
  }
  if (options.commandDescriptor === undefined) {
    emitter.wordFromStart(0, 16); // argv[1], after the count and argv[0]
    emitter.addressFromStart(1, 24); // the address of argv[2]
    emitter.environmentAddress();
  } else {
    const { directory, path, argv, env } = COMMAND_PARTS;
    call("mmap", COMMAND_ADDRESS, COMMAND_BYTES, PROT_READ, MAP_PRIVATE_FIXED_NOREPLACE, options.commandDescriptor, 0);
    orFail("M");
    call("chdir", directory);
    orFail("D");
    [path, argv, env].forEach((address, index) => emitter.argument(index, address));
  }
  emitter.systemCall(numberOf("execve", options.architecture));
  // It returned, so it failed. Earlier stages only jump over this.
  fail(emitter, "E", options);
  for (const { stage, jump } of failures) {
    jump.land();
    fail(emitter, stage, options);
  }
  return emitter.bytes;
}

function fail(emitter: Emitter, stage: Stage, { architecture, reportDescriptor }: StubOptions): void {
  emitter.reportFailure(stage.charCodeAt(0), reportDescriptor, numberOf("write", architecture));
  emitter.argument(0, EXIT_NOT_EXECUTED);
  emitter.systemCall(numberOf("exit_group", architecture));
}

function numberOf(name: SyscallName, architecture: Architecture): number {
  const number = syscallNumber(name, architecture);
  if (number === undefined) throw new Error(`${architecture} has no system call ${name}`);
  return number;
}

// ---------------------------------------------------------------- constants the code points at

// The kernel's structures, in bytes: two of `__user_cap_data_struct`, `msghdr`, `iovec`, and a `cmsghdr`
// with one descriptor, padded.
const CAPABILITIES_BYTES = 24;
const MESSAGE_BYTES = 56;
const VECTOR_BYTES = 16;
const CONTROL_HEADER_BYTES = 16;
const CONTROL_BYTES = CONTROL_HEADER_BYTES + 8;
const LIMIT_BYTES = 16;

/** Addresses of the constants, in the order `dataOf` writes them. */
function dataLayout(options: StubOptions, dataAddress: number) {
  const { seccomp, listening, limits = [], namespaces: wanted, readOnlyDevices = [], lastPidDescriptor } = options;
  const signalSet = dataAddress;
  const ready = signalSet + SIGNAL_SET_BYTES;
  const rootPath = ready + 8;
  const capabilityHeader = rootPath + 8;
  // All of them zero: nothing effective, permitted or inheritable.
  const capabilities = capabilityHeader + 8;
  const limitTable = capabilities + CAPABILITIES_BYTES;
  const filterHeader = limitTable + limits.length * LIMIT_BYTES;
  const filter = filterHeader + FILTER_HEADER_BYTES;
  const listeningHeader = filter + (seccomp?.length ?? 0);
  const message = listeningHeader + FILTER_HEADER_BYTES;
  const vector = message + MESSAGE_BYTES;
  const control = vector + VECTOR_BYTES;
  const listeningFilter = control + CONTROL_BYTES;
  // Without a listener its part is left out.
  const ownEnd = listening === undefined ? listeningHeader : listeningFilter + listening.seccomp.length;
  const namespaces = namespaceLayout(wanted, ownEnd);
  let { end } = namespaces;
  const devices = readOnlyDevices.map((path) => {
    const address = end;
    end += align(path.length + 1);
    return address;
  });
  const lastPids = (lastPidDescriptor === undefined ? [] : LAST_PIDS).map((text) => {
    const address = end;
    end += align(text.length);
    return address;
  });
  const own = { signalSet, ready, rootPath, capabilityHeader, capabilities, limits: limitTable };
  return {
    ...own,
    filterHeader,
    filter,
    listeningHeader,
    message,
    vector,
    control,
    listeningFilter,
    namespaces,
    devices,
    lastPids,
    end,
  };
}

function dataOf(options: StubOptions, dataAddress: number): Uint8Array<ArrayBuffer> {
  const { blockedSignals = [], seccomp, listening, namespaces } = options;
  const layout = dataLayout(options, dataAddress);
  const bytes = new Uint8Array(layout.end - dataAddress);
  const view = new DataView(bytes.buffer);
  const at = (address: number): number => address - dataAddress;
  const setFilter = (header: number, filter: number, program: Uint8Array): void => {
    // How many instructions of eight bytes, and where.
    view.setUint16(at(header), program.length / 8, true);
    view.setBigUint64(at(header) + 8, BigInt(filter), true);
    bytes.set(program, at(filter));
  };
  const set = blockedSignals.reduce((bits, signal) => bits | (1n << BigInt(signal - 1)), 0n);
  view.setBigUint64(at(layout.signalSet), set, true);
  view.setUint8(at(layout.ready), READY);
  view.setUint8(at(layout.rootPath), "/".charCodeAt(0));
  view.setUint32(at(layout.capabilityHeader), CAPABILITY_VERSION, true);
  options.limits?.forEach(({ soft, hard }, index) => {
    view.setBigUint64(at(layout.limits) + index * LIMIT_BYTES, soft, true);
    view.setBigUint64(at(layout.limits) + index * LIMIT_BYTES + 8, hard, true);
  });
  if (seccomp !== undefined) setFilter(layout.filterHeader, layout.filter, seccomp);
  if (listening !== undefined) {
    setFilter(layout.listeningHeader, layout.listeningFilter, listening.seccomp);
    view.setBigUint64(at(layout.message) + 16, BigInt(layout.vector), true);
    view.setBigUint64(at(layout.message) + 24, 1n, true);
    view.setBigUint64(at(layout.message) + 32, BigInt(layout.control), true);
    view.setBigUint64(at(layout.message) + 40, BigInt(CONTROL_BYTES), true);
    view.setBigUint64(at(layout.vector), BigInt(layout.ready), true);
    view.setBigUint64(at(layout.vector) + 8, 1n, true);
    view.setBigUint64(at(layout.control), BigInt(CONTROL_HEADER_BYTES + 4), true);
    view.setInt32(at(layout.control) + 8, SOL_SOCKET, true);
    view.setInt32(at(layout.control) + 12, SCM_RIGHTS, true);
    view.setInt32(at(layout.control) + CONTROL_HEADER_BYTES, listening.descriptor, true);
  }
  options.readOnlyDevices?.forEach((path, index) => {
    bytes.set(new TextEncoder().encode(path), at(layout.devices[index]!));
  });
  layout.lastPids.forEach((address, index) => bytes.set(new TextEncoder().encode(LAST_PIDS[index]), at(address)));
  if (namespaces !== undefined) {
    setFilter(layout.namespaces.filterHeader, layout.namespaces.filter, namespaces.seccomp);
    namespaceConstants(namespaces).forEach((constant, index) => {
      bytes.set(constant, at(layout.namespaces.constants[index]!));
    });
  }
  return bytes;
}

// ---------------------------------------------------------------- the ELF file

const HEADER_BYTES = 64;
const PROGRAM_HEADER_BYTES = 56;
const LOAD_ADDRESS = 0x400000;
const CODE_OFFSET = HEADER_BYTES + 2 * PROGRAM_HEADER_BYTES;
const CODE_ADDRESS = LOAD_ADDRESS + CODE_OFFSET;
/** The largest page size of either architecture, which segments must be aligned to. */
const PAGE_BYTES = 0x10000;
const ELF_MACHINE: Readonly<Record<Architecture, number>> = { x86_64: 62, aarch64: 183 };

/** One read-only executable segment, loaded where the addresses above assume it, and a stack that is not executable. */
export function staticProgram(
  architecture: Architecture,
  code: Uint8Array<ArrayBuffer>,
  data: Uint8Array<ArrayBuffer>,
): Uint8Array<ArrayBuffer> {
  const fileBytes = CODE_OFFSET + align(code.length) + data.length;
  const file = new Uint8Array(fileBytes);
  const view = new DataView(file.buffer);
  file.set([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1]); // ELF, 64 bits, little-endian, version 1
  view.setUint16(16, 2, true); // an executable
  view.setUint16(18, ELF_MACHINE[architecture], true);
  view.setUint32(20, 1, true);
  view.setBigUint64(24, BigInt(CODE_ADDRESS), true); // entry point
  view.setBigUint64(32, BigInt(HEADER_BYTES), true); // program headers
  view.setUint16(52, HEADER_BYTES, true);
  view.setUint16(54, PROGRAM_HEADER_BYTES, true);
  view.setUint16(56, 2, true);

  const segment = HEADER_BYTES;
  view.setUint32(segment, 1, true); // PT_LOAD
  view.setUint32(segment + 4, 5, true); // read, execute
  view.setBigUint64(segment + 16, BigInt(LOAD_ADDRESS), true);
  view.setBigUint64(segment + 24, BigInt(LOAD_ADDRESS), true);
  view.setBigUint64(segment + 32, BigInt(fileBytes), true);
  view.setBigUint64(segment + 40, BigInt(fileBytes), true);
  view.setBigUint64(segment + 48, BigInt(PAGE_BYTES), true);

  const stack = segment + PROGRAM_HEADER_BYTES;
  view.setUint32(stack, 0x6474e551, true); // PT_GNU_STACK
  view.setUint32(stack + 4, 6, true); // read, write

  file.set(code, CODE_OFFSET);
  file.set(data, CODE_OFFSET + align(code.length));
  return file;
}

// ---------------------------------------------------------------- what it reports

export type StubReport =
  /** The sandbox is complete and the program is running, or has run. */
  | { readonly type: "executed" }
  /** The sandbox is complete; the program could not be executed. */
  | { readonly type: "notExecuted"; readonly errno: number }
  /** The sandbox is not complete: `failure` says which part. */
  | { readonly type: "notConfined"; readonly failure: string; readonly errno: number | null };

/** Whether it failed at something that the system may not allow at all. */
export function mayBeForbidden(report: StubReport): boolean {
  return report.type === "notConfined" && STAGES_OF_THE_SYSTEM.some((stage) => STAGES[stage] === report.failure);
}

/** How the command ended, as `wait4` tells it, and whether something that it started still runs. */
export interface EndReport {
  readonly end: ChildStatus;
  readonly leavesOthers: boolean;
}

/** Null for what is no report, or not all of one. */
export function parseEndReport(bytes: Uint8Array): EndReport | null {
  if (bytes.length < END_REPORT_BYTES) return null;
  const status = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
  const signal = status & 0x7f;
  return {
    end: signal === 0 ? { type: "exited", code: (status >> 8) & 0xff } : { type: "signaled", signal },
    leavesOthers: bytes[4] === 0,
  };
}

/** Interprets all bytes up to the end of the report. */
export function parseStubReport(bytes: Uint8Array): StubReport {
  const isReady = bytes[0] === READY;
  const failure = isReady ? bytes.subarray(1) : bytes;
  if (failure.length === 0) {
    return isReady ? { type: "executed" } : { type: "notConfined", failure: "set up the sandbox", errno: null };
  }
  const stage = String.fromCharCode(failure[0] ?? 0);
  if (failure.length !== FAILURE_REPORT_BYTES || !Object.hasOwn(STAGES, stage)) {
    return { type: "notConfined", failure: "read the launch report", errno: null };
  }
  const errno = new DataView(failure.buffer, failure.byteOffset).getInt32(1, true);
  if (isReady && stage === "E") return { type: "notExecuted", errno };
  return { type: "notConfined", failure: STAGES[stage as Stage], errno };
}
