/**
 * A policy as Landlock rules, or the reason why Landlock cannot express it.
 *
 * Landlock can only add grants. Inside a writable directory it can hide or protect nothing, and it does not control
 * names, modes, owners and times. So it can express only policies that read everything and write at most single files.
 * Everything else is refused here rather than enforced in part. As in every sandbox, the host's devices cannot be read:
 * the terminals of others are among them, with what is typed into them.
 *
 * A policy that confines no files can be expressed too. What remains then is what every sandbox has: no signals to
 * processes outside, no look into other processes, and no write to settings of the kernel or of other processes
 * (`/proc`, `/sys`).
 *
 * How the child is restricted from its start: the server makes the ruleset (a descriptor, which restricts nobody yet).
 * The launch stub starts as a normal child with that descriptor, binds itself to the ruleset, installs the system call
 * filter, and then becomes the command. No thread of the server is ever restricted, and no code of the command runs
 * before it is.
 */

import type { NetworkAccess } from "../../protocol/sandbox.ts";
import { DEVICES } from "../devices.ts";
import type { Architecture } from "../stub/syscalls.ts";
import type { KernelMount, KernelMounts } from "../kernel_mounts.ts";
import { type ConfinedCommand, type LaunchPlan, planInherited } from "../launch_plan.ts";
import { launchStub } from "../stub/launch_stub.ts";
import type { FilePolicy, Policy } from "../policy/policy.ts";
import { execFilter, seccompProgram } from "../stub/seccomp.ts";
import { isWithin } from "../../text_path.ts";

/** What `landlock_create_ruleset` and `landlock_add_rule` get; bits as in the kernel's header. */
export interface LandlockRuleset {
  readonly handledFileAccess: number;
  readonly handledNetworkAccess: number;
  readonly scoped: number;
  readonly rules: readonly { readonly path: string; readonly access: number }[];
}

export type LandlockPlan =
  | { readonly type: "ruleset"; readonly ruleset: LandlockRuleset }
  | { readonly type: "inexpressible"; readonly reason: string };

const WRITE_FILE = 1 << 1;
const READ_FILE = 1 << 2;
const REMOVE_DIR = 1 << 4;
const REMOVE_FILE = 1 << 5;
const MAKE_CHAR = 1 << 6;
const MAKE_DIR = 1 << 7;
const MAKE_REG = 1 << 8;
const MAKE_SOCK = 1 << 9;
const MAKE_FIFO = 1 << 10;
const MAKE_BLOCK = 1 << 11;
const MAKE_SYM = 1 << 12;
const REFER = 1 << 13;
const TRUNCATE = 1 << 14;
const IOCTL_DEV = 1 << 15;

/** Every way to change a file or a directory. Listing and executing are not handled, so they stay allowed. */
const ALL_CHANGES = WRITE_FILE | REMOVE_DIR | REMOVE_FILE | MAKE_CHAR | MAKE_DIR | MAKE_REG | MAKE_SOCK | MAKE_FIFO |
  MAKE_BLOCK | MAKE_SYM | REFER | TRUNCATE | IOCTL_DEV;

const BIND_TCP = 1 << 0;
const CONNECT_TCP = 1 << 1;

const SCOPE_ABSTRACT_UNIX_SOCKET = 1 << 0;
const SCOPE_SIGNAL = 1 << 1;

/**
 * The first version that keeps a process inside from signalling processes outside. Without it the command could kill
 * the server: here no process namespace hides the server.
 */
export const MIN_LANDLOCK_ABI = 6;

const DEVICE_PLACE = "/dev";
/** Where the kernel's settings are, and those of other processes. */
const SETTINGS: readonly string[] = ["/proc", "/sys"];

/** What a ruleset depends on. */
export interface LandlockHost {
  /** The kernel's version of Landlock. */
  readonly abi: number;
  /** Paths of the entries of the root directory, without links: rules apply to what really exists. */
  readonly topLevel: readonly string[];
  readonly kernelMounts: KernelMounts;
}

export function landlockPlan(policy: Policy, { abi, topLevel, kernelMounts }: LandlockHost): LandlockPlan {
  if (abi < MIN_LANDLOCK_ABI) {
    return inexpressible(
      `this kernel has version ${abi}, which cannot keep signals inside; version ${MIN_LANDLOCK_ABI} can`,
    );
  }
  const isOffline = policy.network === "restricted";
  const handledNetworkAccess = isOffline ? BIND_TCP | CONNECT_TCP : 0;
  const scoped = SCOPE_SIGNAL | (isOffline ? SCOPE_ABSTRACT_UNIX_SOCKET : 0);
  if (policy.files === "unrestricted") {
    const unprotected = openKernelMount(kernelMounts);
    if (unprotected !== null) {
      return inexpressible(`it cannot protect ${unprotected} while the rest of the disk is writable`);
    }
    // Only content is handled: everything else that can be done with files stays allowed, also in the root directory.
    const access = WRITE_FILE | TRUNCATE;
    const rules = topLevel.filter((path) => !SETTINGS.includes(path)).map((path) => ({ path, access }));
    return { type: "ruleset", ruleset: { handledFileAccess: access, handledNetworkAccess, scoped, rules } };
  }
  const reason = whyInexpressible(policy.files);
  if (reason !== null) return inexpressible(reason);
  const readable = topLevel.filter((path) => path !== DEVICE_PLACE).map((path) => ({ path, access: READ_FILE }));
  const devices = DEVICES.map((path) => ({ path, access: READ_FILE | WRITE_FILE | TRUNCATE | IOCTL_DEV }));
  const files = policy.files.rules.map(({ path }) => ({ path, access: READ_FILE | WRITE_FILE | TRUNCATE }));
  return {
    type: "ruleset",
    ruleset: {
      handledFileAccess: READ_FILE | ALL_CHANGES,
      handledNetworkAccess,
      scoped,
      rules: [...readable, ...devices, ...files],
    },
  };
}

/** A filesystem of the kernel that lies inside something granted, where a confined process could reach it. */
function openKernelMount(kernelMounts: KernelMounts): string | null {
  const isElsewhere = ({ path }: KernelMount) => ![DEVICE_PLACE, ...SETTINGS].some((place) => isWithin(path, place));
  return kernelMounts.list().filter(isElsewhere).find((mount) => kernelMounts.shapeOf(mount) !== null)?.path ?? null;
}

function whyInexpressible({ base, rules, missing }: FilePolicy): string | null {
  if (base === "hidden") return "it cannot make files that are not granted look absent";
  if (base === "write") return "it cannot make exceptions from access to the whole disk";
  const denied = rules.find(({ access }) => access === "deny");
  if (denied !== undefined) return `it cannot hide ${denied.path}`;
  const directory = rules.find(({ access, type }) => access === "write" && type === "directory");
  if (directory === undefined) return null;
  const carved = rules.find(({ access }) => access === "read")?.path ?? missing[0]?.path;
  return `it cannot protect ${carved ?? "anything"} inside the writable ${directory.path}`;
}

function inexpressible(reason: string): LandlockPlan {
  return { type: "inexpressible", reason: `Landlock cannot express the policy: ${reason}` };
}

const REPORT_FD = 3;
const STUB_FD = 4;
const RULESET_FD = 5;

export interface StubPlanOptions {
  readonly architecture: Architecture;
  readonly network: NetworkAccess;
  /** Null: no files, signals or sockets are confined, and programs run with the rights of the server. */
  readonly ruleset: LandlockRuleset | null;
  /** Whether the server, and so its child, is root. */
  readonly isRoot: boolean;
  /** Whether refused network calls are recorded, where the kernel can do that. */
  readonly reportsDenials?: boolean;
  /** Whether the holder of the listener decides every execution of a program. Without a listener nothing starts. */
  readonly asksBeforeExec?: boolean;
}

/** The stub by itself, bound to a ruleset and to the system call filter. */
export function planStub(command: ConfinedCommand, options: StubPlanOptions): LaunchPlan {
  const inherited = planInherited(command, options.ruleset === null ? RULESET_FD : RULESET_FD + 1);
  return {
    program: `/proc/self/fd/${STUB_FD}`,
    argv: ["launch", command.program, ...command.argv],
    env: { ...command.env, ...inherited.env },
    cwd: command.cwd,
    descriptors: [
      { fd: REPORT_FD, type: "report" },
      { fd: STUB_FD, type: "bytes", bytes: stubFor(options) },
      ...(options.ruleset === null ? [] : [{ fd: RULESET_FD, type: "landlock" as const, ruleset: options.ruleset }]),
      ...inherited.descriptors,
    ],
    blockedSignals: [],
  };
}

const stubs = new Map<string, Uint8Array<ArrayBuffer>>();

/** The ruleset is not part of the stub, so there are only a few stubs, and each is made once. */
function stubFor(options: StubPlanOptions): Uint8Array<ArrayBuffer> {
  const { architecture, network, isRoot, ruleset } = options;
  const asksBeforeExec = options.asksBeforeExec === true;
  if (ruleset === null) return unconfinedStub(architecture, asksBeforeExec);
  // A process that may write only single files must not change anything else about files either.
  const changesNoFiles = (ruleset.handledFileAccess & MAKE_REG) !== 0;
  const listensForDenials = (asksBeforeExec || options.reportsDenials === true) && network === "restricted";
  const key = [architecture, network, isRoot, changesNoFiles, listensForDenials, asksBeforeExec].join();
  const known = stubs.get(key);
  if (known !== undefined) return known;
  const filter = { architecture, network, withoutNamespaces: true, changesNoFiles };
  const stub = launchStub({
    architecture,
    reportDescriptor: REPORT_FD,
    closeOnExec: [STUB_FD],
    landlockDescriptor: RULESET_FD,
    dropCapabilities: isRoot ? "required" : "ifPossible",
    seccomp: seccompProgram(filter),
    ...(!listensForDenials && !asksBeforeExec ? {} : {
      listening: {
        seccomp: seccompProgram({ ...filter, networkRefusal: "notify", asksBeforeExec }),
        descriptor: STUB_FD,
        isRequired: asksBeforeExec,
      },
    }),
  });
  stubs.set(key, stub);
  return stub;
}

/** For a command that is not confined: all that is left is the question before each execution, if that is wanted. */
function unconfinedStub(architecture: Architecture, asksBeforeExec: boolean): Uint8Array<ArrayBuffer> {
  const key = [architecture, asksBeforeExec].join();
  const known = stubs.get(key);
  if (known !== undefined) return known;
  const stub = launchStub({
    architecture,
    reportDescriptor: REPORT_FD,
    closeOnExec: [STUB_FD],
    ...(!asksBeforeExec ? {} : {
      listening: { seccomp: execFilter(architecture, "enabled"), descriptor: STUB_FD, isRequired: true },
    }),
  });
  stubs.set(key, stub);
  return stub;
}
