/**
 * The result of a command, as the answer to a call. The text is the reference's JSON. It has more members only where
 * there is more to say. Clients of the reference's time get an error in place of a result wherever the reference gives
 * an error.
 */

import type { Dialect } from "./client_profile.ts";
import { looksDenied } from "./denial_guess.ts";
import type { Omission, OutputText } from "./kept_output.ts";
import type { CommandEnd, RunningCommand } from "./running_command.ts";

export interface ToolResult {
  readonly [key: string]: unknown;
  readonly content: { readonly type: "text"; readonly text: string }[];
  readonly structuredContent?: Record<string, unknown>;
  readonly isError?: boolean;
}

/** An end that the reference answers with an error. `data` is what its error leaves out. */
export class CommandFailure extends Error {
  override readonly name = "CommandFailure";
  readonly data: unknown;

  constructor(message: string, data: unknown) {
    super(message);
    this.data = data;
  }
}

/** As `timeout(1)` has it. */
const EXIT_TIMED_OUT = 124;

/** The result of a command that has ended. Throws a `CommandFailure` where the reference does. */
export function endResult(command: RunningCommand, end: CommandEnd, dialect: Dialect): ToolResult {
  const text = command.output.takeLast();
  const isTimedOut = end.reason === "timedOut";
  const isDenied = !isTimedOut && end.signal === null && command.isSandboxed &&
    looksDenied({ ...text, exitCode: end.exitCode });
  const members = {
    exit_code: isTimedOut ? EXIT_TIMED_OUT : end.exitCode,
    output: text.stdout + text.stderr,
    duration: durationOf(command.durationMs),
    timed_out: isTimedOut,
  };
  const more = {
    ...(end.signal === null || isTimedOut ? {} : { signal: end.signal }),
    ...(end.reason === "stopped" ? { stopped: true } : {}),
    ...(isDenied ? { looks_denied_by_sandbox: true } : {}),
    ...(end.leftChildren ? { background_processes_ended: true } : {}),
    ...noticed(text.omitted, command),
  };
  if (dialect === "reference") {
    const failure = referenceFailure(end, text, isDenied);
    if (failure !== null) throw new CommandFailure(failure, { ...members, ...more });
    return answer(members, {}, dialect);
  }
  return { ...answer(members, more, dialect), ...(isTimedOut || end.signal !== null ? { isError: true } : {}) };
}

/** The result of a command that still runs: what it has written since the last result. */
export function runningResult(command: RunningCommand, handle: string, dialect: Dialect): ToolResult {
  const text = command.output.take();
  const members = {
    exit_code: null,
    output: text.stdout + text.stderr,
    duration: durationOf(command.durationMs),
    timed_out: false,
  };
  return answer(members, { running: true, handle, ...noticed(text.omitted, command) }, dialect);
}

function referenceFailure(end: CommandEnd, { stdout, stderr }: OutputText, isDenied: boolean): string | null {
  if (end.reason === "timedOut") return "sandbox error: command timed out";
  if (end.signal !== null) return "sandbox error: command was killed by a signal";
  if (!isDenied) return null;
  return `sandbox error: sandbox denied exec error, exit code: ${end.exitCode}, stdout: ${stdout}, stderr: ${stderr}`;
}

function noticed(omitted: readonly Omission[], { input, denied }: RunningCommand): Record<string, unknown> {
  return {
    ...(input.waitingBytes === 0 ? {} : { waiting_input_bytes: input.waitingBytes }),
    ...(input.lostBytes === 0 ? {} : { lost_input_bytes: input.lostBytes }),
    ...(omitted.length === 0 ? {} : { omitted_output: omitted }),
    ...(denied.count === 0 ? {} : { denied: denied.listed }),
    ...(denied.count <= denied.listed.length ? {} : { denied_count: denied.count }),
  };
}

function durationOf(ms: number): { secs: number; nanos: number } {
  const secs = Math.floor(ms / 1000);
  return { secs, nanos: Math.floor((ms - secs * 1000) * 1_000_000) };
}

/**
 * Structured content is only for other clients: codex would show it in place of the text, and the reference's clients
 * do not know it.
 */
function answer(members: object, more: Record<string, unknown>, dialect: Dialect): ToolResult {
  const whole = { ...members, ...more };
  const content = [{ type: "text" as const, text: JSON.stringify(whole) }];
  return dialect === "other" ? { content, structuredContent: whole, isError: false } : { content, isError: false };
}
