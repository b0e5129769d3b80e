/**
 * The one shape every way of starting a child has: pipes and terminals, FFI and `Deno.Command`.
 *
 * A backend starts exactly what it is told and reports what happens, as it happens; it knows no sequence numbers,
 * no retention and no wire. Every observer call is made from the event loop, never from inside `spawn`.
 */

import type { LaunchPlan } from "../launch/launch_plan.ts";
import type { Leftovers } from "../os/leftovers.ts";

export type OutputStream = "stdout" | "stderr" | "pty";

export type ProcessIo =
  | { readonly type: "pipe"; readonly stdin: "open" | "closed" }
  | { readonly type: "pty"; readonly rows: number; readonly cols: number };

export interface SpawnRequest {
  /** Not empty. The first word selects the program, looked up on PATH of `env` when it holds no slash. */
  readonly argv: readonly string[];
  /** What the child sees as its own name, when it differs from `argv[0]`. */
  readonly arg0: string | null;
  /** Native absolute path; may hold bytes that are not UTF-8. */
  readonly cwd: string | Uint8Array<ArrayBuffer>;
  /** The whole environment of the child. */
  readonly env: Readonly<Record<string, string>>;
  readonly io: ProcessIo;
  /** Starts this program inside a sandbox. What is executed is then the plan's, made from the fields above. */
  readonly confinement?: Confinement;
}

/** How a child is confined. */
export interface Confinement {
  /**
   * A launch for the disk as it is now. Asked for again when the disk has changed before it was carried out. Rejects
   * with a `DomainError` when the sandbox cannot be enforced or the program is not to be seen in it. What it puts on the
   * disk until `release` it adds to the list, which is seen to also when this program is killed.
   */
  prepare(leftovers?: Leftovers): Promise<PreparedLaunch>;
}

export interface PreparedLaunch {
  readonly plan: LaunchPlan;
  /** To be called once nothing inside runs any more, or when nothing was started. Harmless to call twice. */
  release(): void;
}

/** Something the sandbox refused for the sake of the network. */
export interface NetworkDenial {
  /** `socket(AF_INET, SOCK_STREAM)`, `connect(/run/docker.sock)`. */
  readonly call: string;
  /** Path of the program that tried, as it is seen inside the sandbox; null when it could not be learnt. */
  readonly program: string | null;
  /** Programs try this to learn what the machine has; that it was refused is no reason for them to fail. */
  readonly isProbe: boolean;
}

/** How the direct child ended. */
export type ExitStatus =
  | { readonly type: "exited"; readonly code: number }
  | { readonly type: "signaled"; readonly signal: number }
  /** The status could not be had (another part of the program reaped the child). */
  | { readonly type: "unknown" };

export interface ProcessObserver {
  /** Bytes in the order they were read. The array belongs to the receiver. At most `MAX_OUTPUT_CHUNK_BYTES`. */
  output(stream: OutputStream, bytes: Uint8Array<ArrayBuffer>): void;
  /** Once, when the direct child has ended and its status is known. Output may still follow. */
  exited(status: ExitStatus): void;
  /** Once, when no stream can deliver anything more (end of file on all of them, or `stopReading`). */
  outputEnded(): void;
}

/** What became of bytes offered to a child's standard input. */
export type StdinOutcome = "written" | "closed";

export interface SpawnedProcess {
  readonly pid: number;
  /**
   * What the sandbox has refused, to the child and its descendants: each kind once, and more of them as they happen. Null
   * when that is not known: without a sandbox, with network, or on a system that cannot tell. Let go of by `dispose`.
   */
  readonly networkDenials: readonly NetworkDenial[] | null;
  /** Stops and restarts reading, so that a slow reader pauses the child and not our memory. Idempotent. */
  pauseOutput(): void;
  resumeOutput(): void;
  /**
   * Gives up on the output streams at once: closes them and reports `outputEnded`. Bytes not yet read are lost. A
   * terminal is hung up by that, so its input is closed as well.
   */
  stopReading(): void;
  /**
   * Queues bytes for standard input, in order; they must not be changed meanwhile. Resolves once they have been handed
   * to the kernel, or with "closed" when the child or we have closed its input first. Never rejects.
   */
  write(bytes: Uint8Array<ArrayBuffer>): Promise<StdinOutcome>;
  /** Bytes accepted by `write` that the kernel has not taken yet. */
  readonly queuedInputBytes: number;
  /** End of file after all queued bytes, for pipes. A terminal has none: send it the end-of-file character. */
  closeInput(): void;
  /** Only for terminals. The foreground group is told with SIGWINCH. */
  resize(size: { rows: number; cols: number }): void;
  /** Signals the child's process group; false when the group is gone. Never hits a reused pid. */
  signalGroup(signal: number): boolean;
  /**
   * Frees descriptors and the child's number; the observer hears nothing more. Only after `exited` and `outputEnded`,
   * or to abandon a child that is being killed, which is then reaped when it ends. Idempotent.
   */
  dispose(): void;
}

/** What came of ending processes together with their descendants. */
export interface EndReport {
  /** Processes that were running and have been ended. */
  readonly endedCount: number;
  /** Those that could not be ended, by pid. */
  readonly survivors: readonly number[];
}

export interface ProcessBackend {
  readonly name: "posix" | "command";
  /**
   * Starts a child. Rejects with a `DomainError` of kind "internal" and the operating system's text
   * (`No such file or directory (os error 2)`) before anything runs, or with the child running resolves.
   * The observer is called only after the returned promise's continuation had a chance to run.
   * With a confinement the child runs inside its sandbox, or the promise rejects: with the reason the program could not
   * be executed, or with a `SandboxSetUpError`.
   */
  spawn(request: SpawnRequest, observer: ProcessObserver): Promise<SpawnedProcess>;
  /**
   * Ends these children and, as far as the backend can find them, all their descendants: SIGTERM, SIGKILL after
   * `graceMs`; with 0 at once. Also finds descendants of children that have been disposed of. Resolves when none is
   * left or when trying longer is pointless.
   */
  endTrees(processes: readonly SpawnedProcess[], options: { readonly graceMs: number }): Promise<EndReport>;
  /**
   * Ends everything that was started here, disposes of it and frees what the backend itself holds. Later spawns are
   * refused. Exits are still reported to observers; what is in the pipes after that is not read any more.
   */
  close(options: { readonly graceMs: number }): Promise<EndReport>;
}

/** Largest piece of output handed on at once: what a full Linux pipe holds, so one read empties it. */
export const MAX_OUTPUT_CHUNK_BYTES = 64 * 1024;
