/**
 * How one confined child is started, down to the last descriptor: the decision, for somebody else to carry out.
 *
 * Whoever carries it out opens the descriptors, starts the program as the leader of a new session with those descriptors
 * and no others above 2, closes its own copies, and reads the report to its end, after letting the child go on if it
 * waits for that.
 */

import type { LandlockRuleset } from "./landlock.ts";
import type { FilePolicy } from "./policy.ts";

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
}

export interface LaunchPlan {
  /** What is executed: an absolute path that no client had a say in, or a descriptor of this plan. */
  readonly program: string;
  readonly argv: readonly string[];
  /** For the program above, which may be a wrapper: the command's own environment may be inside `descriptors`. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly descriptors: readonly PlannedDescriptor[];
  /**
   * Blocked when the program starts, by number. The launch stub unblocks them for the command; the wrapper around it,
   * which is in the same process group, keeps running when they are sent to the group.
   */
  readonly blockedSignals: readonly number[];
  /**
   * What the child's mounts must come to. The stub waits after its report: it is to be let go on only once that has been
   * found to be so. Without it the stub waits for nobody.
   */
  readonly view?: PlannedView;
}

/** One descriptor of the child: its number there, and what it must be. None is close-on-exec in the child. */
export type PlannedDescriptor =
  /** Readable from the start. In memory: the bytes may hold the command's environment. */
  | { readonly fd: number; readonly type: "bytes"; readonly bytes: Uint8Array<ArrayBuffer> }
  /** Opened with `O_PATH` and without following any link; a link anywhere on the way is a reason to plan again. */
  | { readonly fd: number; readonly type: "path"; readonly path: string }
  /**
   * One end of a pair of stream sockets. What arrives until its end is for `parseStubReport`. A descriptor that comes with
   * it is the listener of the system call filter: whoever holds it answers the calls that the filter refuses.
   */
  | { readonly fd: number; readonly type: "report" }
  /**
   * The write end of a pipe. What arrives until its end is for `parseFirstProcess`: bubblewrap itself may end a moment
   * before what it confined does, and that process ends last of all inside.
   */
  | { readonly fd: number; readonly type: "info" }
  | { readonly fd: number; readonly type: "landlock"; readonly ruleset: LandlockRuleset };

/** Mounts on top of the host's own, or of nothing. */
export interface PlannedView {
  readonly base: FilePolicy["base"];
  readonly mounts: readonly PlannedMount[];
}

export interface PlannedMount {
  /** Free of links. */
  readonly path: string;
  /** `itself`: the very thing that lies there on the host. `null`: the null device. `empty`: a thing of the sandbox's own. */
  readonly shows: "itself" | "null" | "empty";
  readonly isWritable: boolean;
  /** Whether the directory it lies in is the host's, too. */
  readonly isInHostDirectory: boolean;
  /** Which thing was meant when the policy was made; null when any is right. */
  readonly id: string | null;
}

/**
 * Everything the terminal or a client sends to a whole group. Not SIGCHLD, which the wrapper waits for, and not the
 * signals of its own faults.
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

/** What a confined file helper may see of the server's environment. */
const HELPER_VARIABLES = ["PATH", "TMPDIR", "TMP", "TEMP"] as const;

export function helperEnv(serverEnv: Readonly<Record<string, string>>): Record<string, string> {
  const entries = HELPER_VARIABLES.map((name) => [name, serverEnv[name]] as const);
  return Object.fromEntries(
    entries.filter((entry): entry is readonly [typeof entry[0], string] => entry[1] !== undefined),
  );
}
