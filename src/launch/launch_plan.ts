/**
 * How one confined child is started, down to the last descriptor. This is only the decision; another module carries it
 * out.
 *
 * That module opens the descriptors, starts the program as the leader of a new session with those descriptors and no
 * others above 2, and closes its own copies. If the child waits, the module lets it continue, and then reads the report
 * to its end.
 */

import type { LandlockRuleset } from "./backends/landlock.ts";
import type { FilePolicy, Policy } from "./policy/policy.ts";

/** The command to be confined. */
export interface ConfinedCommand {
  /** Absolute path of the program, as it is seen inside. */
  readonly program: string;
  /** The program's arguments, its own name first. */
  readonly argv: readonly string[];
  /** The program's whole environment. */
  readonly env: Readonly<Record<string, string>>;
  /** Absolute, and visible inside. */
  readonly cwd: string;
  /** Descriptors that the program gets besides its input and output. */
  readonly inherited?: readonly InheritedDescriptor[];
}

export interface InheritedDescriptor {
  /** Ours; it stays ours. */
  readonly descriptor: number;
  /** The environment variables that tell the program of it. */
  readonly variables: readonly string[];
  /** What they tell: its number there, or a path that opens it as a file. */
  readonly toldAs: "number" | "path";
}

export interface LaunchPlan {
  /** What is executed: an absolute path that no client can influence, or a descriptor of this plan. */
  readonly program: string;
  readonly argv: readonly string[];
  /** For the program above, which may be a wrapper. The command's own environment may be inside `descriptors`. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly descriptors: readonly PlannedDescriptor[];
  /**
   * Signals blocked when the program starts, by number. The launch stub unblocks them for the command. The wrapper
   * around it is in the same process group, and keeps running when they are sent to the group.
   */
  readonly blockedSignals: readonly number[];
  /**
   * What the child's mounts must look like. The stub waits after its report, and may continue only after the mounts
   * were checked. Without this the stub does not wait.
   */
  readonly view?: PlannedView;
}

/** One descriptor of the child: its number there, and what it must be. None is close-on-exec in the child. */
export type PlannedDescriptor =
  /** Readable from the start. In memory, because the bytes may hold the command's environment. */
  | { readonly fd: number; readonly type: "bytes"; readonly bytes: Uint8Array<ArrayBuffer> }
  /**
   * Opened with `O_PATH` and without following any link. A link anywhere on the way means that the plan must be made
   * again.
   */
  | { readonly fd: number; readonly type: "path"; readonly path: string }
  /**
   * One end of a pair of stream sockets. The bytes until its end are for `parseStubReport`. A descriptor that comes
   * with them is the listener of the system call filter: its holder answers the calls that the filter refuses.
   */
  | { readonly fd: number; readonly type: "report" }
  /**
   * The write end of a pipe. The bytes until its end are for `parseFirstProcess`. bubblewrap may end a moment before
   * the processes it confined; the first process inside ends last of all.
   */
  | { readonly fd: number; readonly type: "info" }
  /**
   * The write end of a pipe. What comes is for `parseEndReport`: how the command ended, as soon as it has, which is
   * before the sandbox is taken down. One more byte follows when nothing is left of what it started, if something was.
   */
  | { readonly fd: number; readonly type: "end" }
  /**
   * What the command writes to. The program's own standard output and error are then a pipe for its complaints: a wrapper
   * keeps those two open for as long as anything runs, and the command's output would have no end before that.
   */
  | { readonly fd: number; readonly type: "output"; readonly stream: "stdout" | "stderr" }
  /** `ns_last_pid`, open for writing; where the kernel has none, nothing that counts. */
  | { readonly fd: number; readonly type: "lastPid" }
  /** Empty when the child starts; the command is written to it later. Read-only in the child. */
  | { readonly fd: number; readonly type: "command" }
  /**
   * A copy in memory of the program at this path, to be executed. What runs inside finds the file of the sandbox's first
   * process in `/proc`, on the mount from which it was started: a writable one of the host's, where user 0 could change
   * the mode of the program itself.
   */
  | { readonly fd: number; readonly type: "program"; readonly path: string }
  /** A copy of one that is open already, and stays open. */
  | { readonly fd: number; readonly type: "given"; readonly descriptor: number }
  | { readonly fd: number; readonly type: "landlock"; readonly ruleset: LandlockRuleset };

/** Mounts on top of the host's mounts, or on top of nothing. */
export interface PlannedView {
  readonly base: FilePolicy["base"];
  /** Whose `/dev` it has. */
  readonly devices: "own" | "host";
  readonly mounts: readonly PlannedMount[];
}

export interface PlannedMount {
  /** Without links. */
  readonly path: string;
  /** `itself`: exactly what the host has there. `null`: the null device. `empty`: something of the sandbox's own. */
  readonly shows: "itself" | "null" | "empty";
  readonly isWritable: boolean;
  /** Whether the directory it lies in is also the host's. */
  readonly isInHostDirectory: boolean;
  /** The file or directory that was meant when the policy was made; null when any is right. */
  readonly id: string | null;
}

/** A plan, and what it needs on the host. */
export interface PreparedLaunch {
  readonly plan: LaunchPlan;
  /** What the plan enforces; absent where nothing is confined. */
  readonly policy?: Policy;
  /** To be called once nothing inside runs any more, or when nothing was started. Harmless to call twice. */
  release(): void;
}

/**
 * All signals that the terminal or a client sends to a whole group. Not SIGCHLD, which the wrapper waits for, and not
 * the signals of its own faults.
 */
export const WRAPPER_BLOCKED_SIGNALS: readonly number[] = [
  1, // HUP
  2, // INT
  3, // QUIT
  10, // USR1
  12, // USR2
  14, // ALRM
  15, // TERM
  20, // TSTP
  21, // TTIN
  22, // TTOU
];

/** The server's environment variables that a confined file helper gets. */
const HELPER_VARIABLES = ["PATH", "TMPDIR", "TMP", "TEMP"] as const;

export function helperEnv(serverEnv: Readonly<Record<string, string>>): Record<string, string> {
  const entries = HELPER_VARIABLES.map((name) => [name, serverEnv[name]] as const);
  return Object.fromEntries(
    entries.filter((entry): entry is readonly [typeof entry[0], string] => entry[1] !== undefined),
  );
}

/** Plans a command's own descriptors from `firstFd`, the next free number, and the variables that tell of them. */
export function planInherited(
  { inherited }: ConfinedCommand,
  firstFd: number,
): { readonly descriptors: readonly PlannedDescriptor[]; readonly env: Readonly<Record<string, string>> } {
  const planned = (inherited ?? []).map((given, index) => ({ ...given, fd: firstFd + index }));
  const told = planned.flatMap(({ fd, variables, toldAs }) =>
    variables.map((name) => [name, toldAs === "path" ? `/proc/self/fd/${fd}` : String(fd)])
  );
  return {
    descriptors: planned.map(({ fd, descriptor }) => ({ fd, type: "given", descriptor })),
    env: Object.fromEntries(told),
  };
}
