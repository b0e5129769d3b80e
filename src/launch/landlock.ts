/**
 * A policy as Landlock rules, or the reason why Landlock cannot express it.
 *
 * Landlock only ever adds grants: inside a writable directory it can hide or protect nothing, and it has no say over
 * names, modes, owners and times. So the policies that are left are those that read everything and write at most single
 * files. Everything else is refused here rather than enforced in part. As in every sandbox the host's devices are not
 * among what can be read: the terminals of others are there, with what is typed into them.
 *
 * How the child is born restricted: the server makes the ruleset (a descriptor; that restricts nobody), and the launch
 * stub, started as a normal child with that descriptor, binds itself to it, installs the system call filter and then
 * becomes the command. No thread of the server is ever restricted, and no code of the command runs before it is.
 */

import type { NetworkAccess } from "../protocol/sandbox.ts";
import type { Architecture } from "./syscalls.ts";
import type { ConfinedCommand, LaunchPlan } from "./launch_plan.ts";
import { launchStub } from "./launch_stub.ts";
import type { FilePolicy, Policy } from "./policy.ts";
import { seccompProgram } from "./seccomp.ts";

/** What `landlock_create_ruleset` and `landlock_add_rule` are given; bits as in the kernel's header. */
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

/** Every way to change a file or a directory. Listing and executing are not handled, and so stay free. */
const ALL_CHANGES = WRITE_FILE | REMOVE_DIR | REMOVE_FILE | MAKE_CHAR | MAKE_DIR | MAKE_REG | MAKE_SOCK | MAKE_FIFO |
  MAKE_BLOCK | MAKE_SYM | REFER | TRUNCATE | IOCTL_DEV;

const BIND_TCP = 1 << 0;
const CONNECT_TCP = 1 << 1;

const SCOPE_ABSTRACT_UNIX_SOCKET = 1 << 0;
const SCOPE_SIGNAL = 1 << 1;

/**
 * The first version with which a process inside can signal nobody outside. Without it the command could end the server,
 * and there is no process namespace that would hide it.
 */
export const MIN_LANDLOCK_ABI = 6;

const DEVICES = "/dev";
/** Where programs write without changing anything. The terminals of others (`/dev/pts`) are not among them. */
const HARMLESS_DEVICES = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"];

/** What of the host a ruleset depends on. */
export interface LandlockHost {
  /** The kernel's version of Landlock. */
  readonly abi: number;
  /** Paths of what lies in the root directory, without links: rules are for what is really there. */
  readonly topLevel: readonly string[];
}

export function landlockPlan(policy: Policy, { abi, topLevel }: LandlockHost): LandlockPlan {
  if (abi < MIN_LANDLOCK_ABI) {
    return inexpressible(`this kernel's version ${abi} cannot keep signals inside; version ${MIN_LANDLOCK_ABI} can`);
  }
  if (policy.files === "unrestricted") return inexpressible("the policy confines no files");
  const reason = whyInexpressible(policy.files);
  if (reason !== null) return inexpressible(reason);
  const readable = topLevel.filter((path) => path !== DEVICES).map((path) => ({ path, access: READ_FILE }));
  const devices = HARMLESS_DEVICES.map((path) => ({ path, access: READ_FILE | WRITE_FILE | TRUNCATE | IOCTL_DEV }));
  const files = policy.files.rules.map(({ path }) => ({ path, access: READ_FILE | WRITE_FILE | TRUNCATE }));
  const isOffline = policy.network === "restricted";
  return {
    type: "ruleset",
    ruleset: {
      handledFileAccess: READ_FILE | ALL_CHANGES,
      handledNetworkAccess: isOffline ? BIND_TCP | CONNECT_TCP : 0,
      scoped: SCOPE_SIGNAL | (isOffline ? SCOPE_ABSTRACT_UNIX_SOCKET : 0),
      rules: [...readable, ...devices, ...files],
    },
  };
}

function whyInexpressible({ base, rules, missing }: FilePolicy): string | null {
  if (base === "hidden") return "it cannot make files that are not granted look absent";
  if (base === "write") return "it cannot take away from a grant of the whole disk";
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
  readonly ruleset: LandlockRuleset | null;
  /** Whether the server, and so its child, is root. */
  readonly isRoot: boolean;
  /** Whether what is refused of the network is to be told, where the kernel can do that. */
  readonly reportsDenials?: boolean;
}

/** The stub alone, bound to a ruleset or, without one, to the system call filter only. */
export function planStub(
  command: ConfinedCommand,
  options: StubPlanOptions,
): LaunchPlan {
  const { ruleset } = options;
  return {
    program: `/proc/self/fd/${STUB_FD}`,
    argv: ["launch", command.program, ...command.argv],
    env: command.env,
    cwd: command.cwd,
    descriptors: [
      { fd: REPORT_FD, type: "report" },
      { fd: STUB_FD, type: "bytes", bytes: stubFor(options) },
      ...(ruleset === null ? [] : [{ fd: RULESET_FD, type: "landlock" as const, ruleset }]),
    ],
    blockedSignals: [],
  };
}

const stubs = new Map<string, Uint8Array<ArrayBuffer>>();

/** The ruleset itself is not part of the stub, so there are few of them, and each is made once. */
function stubFor(options: StubPlanOptions): Uint8Array<ArrayBuffer> {
  const { architecture, network, isRoot } = options;
  const hasRuleset = options.ruleset !== null;
  const isWatched = options.reportsDenials === true && network === "restricted";
  const key = [architecture, network, isRoot, hasRuleset, isWatched].join();
  const known = stubs.get(key);
  if (known !== undefined) return known;
  // The policies Landlock is used for let nothing be changed that it has no say over.
  const filter = { architecture, network, withoutNamespaces: hasRuleset };
  const stub = launchStub({
    architecture,
    reportDescriptor: REPORT_FD,
    closeOnExec: [STUB_FD],
    ...(!hasRuleset ? {} : {
      landlockDescriptor: RULESET_FD,
      dropCapabilities: isRoot ? "required" as const : "ifPossible" as const,
    }),
    seccomp: seccompProgram(filter),
    ...(!isWatched ? {} : {
      listening: { seccomp: seccompProgram({ ...filter, networkRefusal: "notify" }), descriptor: STUB_FD },
    }),
  });
  stubs.set(key, stub);
  return stub;
}
