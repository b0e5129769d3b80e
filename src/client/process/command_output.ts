/** What a command left behind: how it ended, and what it wrote. */

import type { EndReason, ProcessStatus } from "./process_status.ts";

/**
 * What a `CommandOutput` is made of.
 *
 * ```ts
 * const bytes = new Uint8Array();
 * const status = await handle.status;
 * const parts: CommandOutputParts = { status, stdout: bytes, stderr: bytes, truncated: false, durationMs: 0 };
 * console.log(new CommandOutput(parts).success); // For a double in a test.
 * ```
 */
export interface CommandOutputParts {
  /** How it ended. */
  readonly status: ProcessStatus;
  /** What it wrote to standard output. */
  readonly stdout: Uint8Array<ArrayBuffer>;
  /** What it wrote to standard error. */
  readonly stderr: Uint8Array<ArrayBuffer>;
  /** Whether something is missing. */
  readonly truncated: boolean;
  /** How long it took. */
  readonly durationMs: number;
}

/**
 * How a command ended and what it wrote. Success and failure have the same shape.
 *
 * ```ts
 * const output: CommandOutput = await box.run(["git", "status"], { cwd: "/work" });
 * console.log(output.code, output.endReason, output.stdoutText, output.truncated, output.durationMs);
 * ```
 */
export class CommandOutput implements ProcessStatus {
  /** Whether it exited by itself with code 0. */
  readonly success: boolean;
  /** Exit code; 128 and the signal's number if a signal ended it. Null: the server could not find out. */
  readonly code: number | null;
  /** `SIGTERM` and the like, where a signal ended it. */
  readonly signal: string | null;
  /** Why it ended. Null: the server does not say. */
  readonly endReason: EndReason | null;
  /** Whether the sandbox seems to have refused it something. */
  readonly sandboxDenied: boolean;
  /** Which network calls the sandbox refused. Null: not known, or the sandbox allows the network. */
  readonly networkDenials: ProcessStatus["networkDenials"];
  /** What the server could not do for it, in words; null as a rule. */
  readonly failure: string | null;
  /** What it wrote to standard output, or to its terminal. */
  readonly stdout: Uint8Array<ArrayBuffer>;
  /** What it wrote to standard error. */
  readonly stderr: Uint8Array<ArrayBuffer>;
  /** Whether something in the middle was left out, because there was more than `maxBytes`, or was lost. */
  readonly truncated: boolean;
  /** From the start request to the last output, as seen here. */
  readonly durationMs: number;

  /** For this library. */
  constructor({ status, stdout, stderr, truncated, durationMs }: CommandOutputParts) {
    this.success = status.success;
    this.code = status.code;
    this.signal = status.signal;
    this.endReason = status.endReason;
    this.sandboxDenied = status.sandboxDenied;
    this.networkDenials = status.networkDenials;
    this.failure = status.failure;
    this.stdout = stdout;
    this.stderr = stderr;
    this.truncated = truncated;
    this.durationMs = durationMs;
  }

  /** Standard output as text. */
  get stdoutText(): string {
    return new TextDecoder().decode(this.stdout);
  }

  /** Standard error as text. */
  get stderrText(): string {
    return new TextDecoder().decode(this.stderr);
  }
}
