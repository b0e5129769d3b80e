/**
 * The seam between the MCP tool and what runs under it: a shell whose starter decides every execve.
 *
 * Types only. An implementation promises that no program of the shell runs undecided. Where calls cannot be supervised,
 * `obstacle` says why, and `start` rejects with the same words. Rules, prompts and results belong to the other side.
 */

import type { ExecJudge } from "../process/supervised/exec_decision.ts";
import type { Sandbox } from "../protocol/sandbox.ts";

export type { EscalationOutcome, ExecCall, ExecVerdict, StrictEnd } from "../process/supervised/exec_decision.ts";

/** A Bash that asks before each exec of its own, and the program it asks with. */
export interface PatchedBash {
  readonly bash: string;
  /** Speaks the `CODEX_ESCALATE_SOCKET` protocol. Absent: this program's own wrapper mode. */
  readonly wrapper?: string;
}

export interface SupervisedShellOptions extends ExecJudge {
  /** Absolute path of the shell. Ignored when there is a patched one. */
  readonly shell: string;
  readonly command: string;
  /** `-lc` instead of `-c`. */
  readonly login: boolean;
  /** Absolute. */
  readonly cwd: string;
  /** The shell's whole environment. */
  readonly env: Readonly<Record<string, string>>;
  /** As `process/start` takes it; null: no sandbox, but every exec is still decided. */
  readonly sandbox: Sandbox | null;
  /** `shell`: only what the shell itself runs is asked about; what its programs run stays inside unasked. */
  readonly intercept: "all" | "shell";
  /** Whether programs that the shell started may leave the sandbox too. */
  readonly escalate: "shell" | "all";
  /** What runs inside is compared with what was decided, at about 2 ms each; a program that differs is killed. */
  readonly strictExec: boolean;
  readonly patchedBash?: PatchedBash;
  /** Whether `write` and `closeStdin` do anything. Otherwise standard input is empty. */
  readonly stdin?: "open" | "closed";
  /** `merged`: one stream, in the order written, reported as stdout. */
  readonly output?: "separate" | "merged";
  /** In the order read. The receiver owns the array. */
  onOutput(stream: "stdout" | "stderr", bytes: Uint8Array<ArrayBuffer>): void;
}

export interface SupervisedShellCounters {
  /** Calls that were looked at. */
  readonly execs: number;
  readonly run: number;
  readonly escalated: number;
  readonly denied: number;
  /** With `strictExec`: programs killed because they were not what was decided. */
  readonly mismatched: number;
  /** Escalations that were refused: the program could have been written from inside, or could not be started. */
  readonly refused: number;
}

export interface SupervisedShell {
  readonly pid: number;
  /** The shell's own end. `signal` is a name such as `SIGKILL`. */
  readonly exited: Promise<{ readonly exitCode: number; readonly signal: string | null }>;
  /** Output has ended too, and everything is cleared away. */
  readonly closed: Promise<void>;
  /** Resolves when the kernel has taken the bytes, or with `closed` when nobody can read them any more. */
  write(bytes: Uint8Array<ArrayBuffer>): Promise<"written" | "closed">;
  closeStdin(): void;
  /** Stops and restarts reading: a slow reader pauses the command. */
  pauseOutput(): void;
  resumeOutput(): void;
  /**
   * Whether something that it started still runs, for a shell that has exited and closed. What is just ending is given a
   * moment to be gone. False where nobody can tell.
   */
  leavesProcesses(): Promise<boolean>;
  /** Stops waiting for output: for a shell that has exited while its children hold its output open. */
  stopReading(): void;
  /** Ends everything that the shell started, escalated programs too. Resolves when they are gone. Idempotent. */
  terminate(): Promise<void>;
  readonly counters: SupervisedShellCounters;
}

export interface SupervisedShells {
  /** Why no shell can be supervised here; null when one can. Asked of the system until one can. */
  obstacle(): Promise<string | null>;
  /** Rejects, before anything runs, with a `DomainError`. */
  start(options: SupervisedShellOptions): Promise<SupervisedShell>;
  /** Ends all shells. */
  close(): Promise<void>;
}
