/** What is asked before a program is executed, and what may be answered. */

/** One execve, as it was read from the caller. It is still waiting for its answer. */
export interface ExecCall {
  /** The program as the caller named it, made absolute with the caller's directory; `.` and `..` removed as text. */
  readonly file: string;
  /** What would be run: `argv[0]` is only what the program is told as its name. */
  readonly argv: readonly string[];
  /** The caller's directory now. */
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** The caller's, as this system numbers it. */
  readonly pid: number;
  /** The shell itself is the caller (or a copy of it that has run nothing), and not a program it started. */
  readonly isShell: boolean;
  /**
   * Why it would be refused outside of the sandbox, as far as that is known before it is tried, so that nobody is asked
   * in vain. Null: it may leave. `pathIsNamed` as in the verdict.
   */
  whyItStays?(pathIsNamed: boolean): Promise<string | null>;
}

/** What the caller is told before the reason why a program may not run outside. */
export const CANNOT_LEAVE = "cannot leave the sandbox";

export type ExecVerdict =
  /** Inside the sandbox, as if nobody had looked. */
  | { readonly kind: "run" }
  /** Outside of the sandbox, with the caller's input and output; the caller ends with its exit code. */
  | {
    readonly kind: "escalate";
    /** Descriptors beyond 0 to 2 are passed on too. */
    readonly passFds?: boolean;
    /** A rule or `host_executable` names this very path, so it runs even from a place that the sandbox may write. */
    readonly pathIsNamed?: boolean;
  }
  /** The caller prints `Execution denied: REASON` and ends with 1. */
  | { readonly kind: "deny"; readonly reason: string | null };

/** What became of an escalated call. */
export type EscalationOutcome =
  | { readonly type: "started"; readonly pid: number }
  /** As a shell counts: 128 and the signal's number for a program that a signal ended. */
  | { readonly type: "exited"; readonly exitCode: number }
  /** Not run; the caller printed the reason and ended with 1. */
  | { readonly type: "refused"; readonly reason: string }
  /** The caller was gone first; what had been started in its place was ended. */
  | { readonly type: "abandoned" };

/**
 * With strict supervision, why a program that was to run inside did not: it was another than had been decided and was
 * killed, or its caller could not be stopped for the comparison and its call failed.
 */
export type StrictEnd = "killed" | "refused";

/** A call that failed before it could be decided. The file is null where it could not be read. */
export interface UndecidedCall extends Pick<ExecCall, "pid" | "isShell"> {
  readonly file: string | null;
}

/** Decides executions. */
export interface ExecJudge {
  /**
   * The signal: nobody waits for the answer any more. A failure denies, and its message is not shown to the caller. An
   * answer that is there at once spares looking whether the caller is.
   */
  decide(call: ExecCall, signal: AbortSignal): ExecVerdict | Promise<ExecVerdict>;
  onUndecided?(call: UndecidedCall, reason: string): void;
  onEscalated?(call: ExecCall, outcome: EscalationOutcome): void;
  onStrictEnd?(call: ExecCall, end: StrictEnd): void;
}
