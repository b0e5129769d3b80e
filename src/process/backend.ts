/**
 * The interface of everything that starts children: pipes and terminals, FFI and `Deno.Command`.
 *
 * A backend starts exactly what it is told and reports what happens, as it happens. It knows no sequence numbers, no
 * retention and no wire. Observers are always called from the event loop, never from inside `spawn`.
 */

import type { PreparedLaunch } from "../launch/launch_plan.ts";
import type { Leftovers } from "./posix/leftovers.ts";
import type { ExecAnswerer } from "./posix/exec_answerer.ts";

export type OutputStream = "stdout" | "stderr" | "pty";

export type ProcessIo =
  /** `joined`: standard error goes to the pipe of standard output, in the order written. */
  | { readonly type: "pipe"; readonly stdin: "open" | "closed"; readonly stderr?: "joined" }
  | { readonly type: "pty"; readonly rows: number; readonly cols: number };

export interface SpawnRequest {
  /** Not empty. The first word is the program, looked up on PATH of `env` if it has no slash. */
  readonly argv: readonly string[];
  /** What the child sees as its own name, when it differs from `argv[0]`. */
  readonly arg0: string | null;
  /** Native absolute path; may contain bytes that are not UTF-8. */
  readonly cwd: string | Uint8Array<ArrayBuffer>;
  /** The whole environment of the child. */
  readonly env: Readonly<Record<string, string>>;
  readonly io: ProcessIo;
  /** Starts this program inside a sandbox. The plan, made from the fields above, is then what is executed. */
  readonly confinement?: Confinement;
}

/** How a child is confined. */
export interface Confinement {
  /** Whether something else confines the files, so that a refusal mentioned in the output is not the sandbox's. */
  readonly leavesFilesToOthers?: boolean;
  /**
   * A launch for the disk as it is now. Called again if the disk has changed before it was carried out. Rejects with a
   * `DomainError` when the sandbox cannot be enforced or hides the program. What it puts on the disk until `release` it
   * adds to the list, so that it is removed even if this program is killed.
   */
  prepare(leftovers?: Leftovers): Promise<PreparedLaunch>;
  /** Decides what the child and its descendants execute, for a launch that asks before each execution. */
  readonly execAnswerer?: ExecAnswerer;
}

/** A network call that the sandbox refused. */
export interface NetworkDenial {
  /** `socket(AF_INET, SOCK_STREAM)`, `connect(/run/docker.sock)`. */
  readonly call: string;
  /** Path of the program that tried, as seen inside the sandbox; null when it is not known. */
  readonly program: string | null;
  /** Programs try this to learn what the machine has; its refusal is no reason for them to fail. */
  readonly isProbe: boolean;
}

/** How the direct child ended. */
export type ExitStatus =
  | { readonly type: "exited"; readonly code: number }
  | { readonly type: "signaled"; readonly signal: number }
  /** The status is not known (another part of the program reaped the child). */
  | { readonly type: "unknown" };

export interface ProcessObserver {
  /** Bytes in the order they were read. The array belongs to the receiver. At most `MAX_OUTPUT_CHUNK_BYTES`. */
  output(stream: OutputStream, bytes: Uint8Array<ArrayBuffer>): void;
  /** Once, when the direct child has ended and its status is known. Output may still follow. */
  exited(status: ExitStatus): void;
  /**
   * Once, when no stream can deliver anything more (end of file on all of them, or `stopReading`). With the operating
   * system's text if one could not be read to its end.
   */
  outputEnded(failure?: string | null): void;
}

/** What became of bytes offered to a child's standard input. */
export type StdinOutcome = "written" | "closed";

export interface SpawnedProcess {
  readonly pid: number;
  /**
   * What the sandbox has refused to the child and its descendants: each kind once, growing as it happens. Null when
   * that is not known: without a sandbox, with network, or on a system that cannot tell. Released by `dispose`.
   */
  readonly networkDenials: readonly NetworkDenial[] | null;
  /**
   * Begins to read and to wait for the child's end, and reports both from a later turn on. Until then nothing is heard of
   * the child, and nothing is lost: its output waits in the pipes. Called once; without effect after `dispose`.
   */
  begin(observer: ProcessObserver): void;
  /** Stops and restarts reading, so that a slow reader pauses the child instead of filling our memory. Idempotent. */
  pauseOutput(): void;
  resumeOutput(): void;
  /**
   * Abandons the output streams at once: closes them and reports `outputEnded`. Bytes not yet read are lost. This hangs
   * up a terminal, so its input is closed too.
   */
  stopReading(): void;
  /**
   * Queues bytes for standard input, in order; they must not be changed meanwhile. Resolves once the kernel has taken
   * them, or with "closed" when the child or we have closed its input first. Never rejects.
   */
  write(bytes: Uint8Array<ArrayBuffer>): Promise<StdinOutcome>;
  /** Bytes accepted by `write` that the kernel has not taken yet. */
  readonly queuedInputBytes: number;
  /** End of file after all queued bytes, for pipes. A terminal has none: send it the end-of-file character. */
  closeInput(): void;
  /** Only for terminals. The foreground group is told with SIGWINCH. */
  resize(size: { rows: number; cols: number }): void;
  /**
   * Whether the command has ended and nothing is left of what it started; null where nobody tells. Then the tree has to be
   * ended, which finds out.
   */
  leavesNothing?(): boolean | null;
  /**
   * False if `stopReading` has closed its output. If it has ended by itself, whoever had it open is gone, the wrapper of a
   * sandbox too, whatever is told from inside.
   */
  readonly isReadToEnd?: boolean;
  /** Resolves when what its sandbox had put on the disk has been removed; absent or null where there is nothing. */
  readonly cleared?: Promise<void> | null;
  /** Signals the child's process group; false when the group is gone. Never hits a reused pid. */
  signalGroup(signal: number): boolean;
  /** Signals the group that has the child's terminal now; false when there is none, or no terminal. */
  signalForeground(signal: number): boolean;
  /**
   * Frees descriptors and the child's number; the observer hears nothing more and is let go. Only after `exited` and `outputEnded`,
   * or to abandon a child that is being killed, which is then reaped when it ends. Idempotent.
   */
  dispose(): void;
}

/** The outcome of ending processes together with their descendants. */
export interface EndReport {
  /** Processes that were running and have been ended. */
  readonly endedCount: number;
  /** Those that could not be ended, by pid. */
  readonly survivors: readonly number[];
  /** Processes were still being made when the time was up: some may run that `survivors` does not name. */
  readonly isOutrun?: boolean;
}

/** What a child and everything that descends from it use now. */
export interface ProcessUsage {
  /** Processor time so far, of those that live and of the children they have waited for. */
  readonly cpuMs: number;
  readonly memoryBytes: number;
  readonly processCount: number;
  /** Where they listen. */
  readonly ports: readonly { readonly address: string; readonly port: number; readonly pid: number }[];
}

export interface ProcessBackend {
  readonly name: "posix" | "command";
  /** Prepares what the first child would otherwise wait for. Absent: nothing to do. */
  prepare?(): Promise<void>;
  /** The same for what only some children need: terminals and sandboxes. */
  prepareRest?(): Promise<void>;
  /**
   * Starts a child. Resolves with the child running, of which nothing is heard before `begin`. Rejects, before anything
   * runs, with a `DomainError` of kind "internal" and the operating system's text
   * (`No such file or directory (os error 2)`). With a confinement the child runs inside its sandbox, or the
   * promise rejects: with the reason the program could not be executed, or with a `SandboxSetUpError`.
   */
  spawn(request: SpawnRequest): Promise<SpawnedProcess>;
  /**
   * Ends these children and all descendants that the backend can find: SIGTERM, then SIGKILL after `graceMs`; with 0 at
   * once. Also finds descendants of children that were disposed of. Resolves when none is left or trying longer is
   * pointless.
   */
  endTrees(processes: readonly SpawnedProcess[], options: { readonly graceMs: number }): Promise<EndReport>;
  /** What each of these uses with its descendants, in the same order; null where that cannot be learnt. */
  usage(processes: readonly SpawnedProcess[]): Promise<(ProcessUsage | null)[]>;
  /**
   * Ends everything that was started here, disposes of it, and frees what the backend holds. Later spawns are refused.
   * Before this resolves, observers still hear of the exit and the end of output of everything that has ended. What is
   * in the pipes after the exit is not read any more.
   */
  close(options: { readonly graceMs: number }): Promise<EndReport>;
}

/** Largest piece of output passed on at once: what a full Linux pipe holds, so that one read empties it. */
export const MAX_OUTPUT_CHUNK_BYTES = 64 * 1024;
