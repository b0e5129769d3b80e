/** How a process ended. */

import type * as wire from "../../protocol/process_results.ts";
import type { ExitReport } from "./feed_sink.ts";

/**
 * Why a process ended, in the server's words.
 *
 * ```ts
 * const why: EndReason | null = (await handle.status).endReason;
 * if (why === "timeout") console.log("it took too long");
 * ```
 */
export type EndReason = wire.EndReason;

/**
 * How a process ended.
 *
 * ```ts
 * const { success, code, signal }: ProcessStatus = await handle.status;
 * console.log(success ? "done" : `failed with ${signal ?? code}`);
 * ```
 */
export interface ProcessStatus {
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
  readonly networkDenials: readonly { readonly call: string; readonly program: string | null }[] | null;
  /** What the server could not do for it, in words; null as a rule. */
  readonly failure: string | null;
}

/** 128 and the number of the signals that programs usually end by. */
const SIGNALS: Readonly<Record<number, string>> = {
  129: "SIGHUP",
  130: "SIGINT",
  131: "SIGQUIT",
  134: "SIGABRT",
  137: "SIGKILL",
  139: "SIGSEGV",
  141: "SIGPIPE",
  143: "SIGTERM",
};

/** The report of a server as a status, with defaults for what an older one leaves out. */
export function statusOf(report: ExitReport): ProcessStatus {
  const { exitCode: code, endReason, sandboxDenied, networkDenials, failure } = report;
  // Without a reason only the code shows that it was a signal.
  const signal = report.signal ?? (endReason === null && code !== null ? SIGNALS[code] ?? null : null);
  return {
    success: code === 0 && (endReason === null || endReason === "exit"),
    code,
    signal,
    endReason,
    sandboxDenied,
    networkDenials,
    failure,
  };
}
