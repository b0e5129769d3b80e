/**
 * What the process layer tells its callers about a process: plain values, with raw bytes where the wire has base64.
 */

import type { NativePath } from "../../path_uri.ts";
import type { OutputMode } from "../../protocol/process.ts";
import type { NetworkDenial } from "../backend.ts";
import type { OutputChunk } from "./output_log.ts";
import type { TerminalSize } from "./viewers.ts";

/**
 * Why a process ended. The first cause counts: a process that is terminated and then exits by itself was terminated.
 * `exit` and `signal` mean that nobody here asked for it.
 */
export type EndReason =
  | "exit"
  | "signal"
  | "terminated"
  | "timeout"
  | "sessionEnded"
  | "sessionExpired"
  | "serverShutdown";

/** What became of the direct child. */
export interface ProcessExit {
  /** 0 to 255, 128 and the signal's number, or -1 when unknown. */
  readonly exitCode: number;
  readonly sandboxDenied: boolean;
  readonly end: ProcessEnd;
}

/** Not part of the reference's answers: sent only to clients that asked. */
export interface ProcessEnd {
  readonly reason: EndReason;
  /** `SIGKILL` and the like, when a signal ended the child. */
  readonly signal: string | null;
}

export interface ProcessStatus {
  /** The number the next event will have. */
  readonly nextSeq: number;
  readonly exit: ProcessExit | null;
  readonly closed: boolean;
  /** What its sandbox has refused it so far; null when that is not known. Told only to clients that asked. */
  readonly networkDenials: readonly NetworkDenial[] | null;
  /** What went wrong with the process itself: it could not be started, or the server lost it. For people. */
  readonly failure: string | null;
}

/** `nextSeq` is a cursor here: with a byte budget it follows the last chunk returned. */
export interface ReadOutcome extends ProcessStatus {
  readonly chunks: readonly OutputChunk[];
  readonly gap: OutputGap;
}

/** What is no longer there for a reader. */
export interface OutputGap {
  /** The number of the oldest output that is retained; null when there is none. */
  readonly firstSeq: number | null;
  /** Bytes after the reader's cursor that are not retained any more. */
  readonly droppedBytes: number;
}

export interface WaitOutcome extends ProcessStatus {
  readonly timedOut: boolean;
}

/** Streams that the process does not have are empty. */
export interface ProcessSnapshot extends ProcessStatus {
  readonly stdout: Uint8Array<ArrayBuffer>;
  readonly stderr: Uint8Array<ArrayBuffer>;
  readonly terminal: Uint8Array<ArrayBuffer>;
  readonly truncated: boolean;
}

export interface ProcessInfo extends ProcessStatus {
  readonly processId: string;
  readonly uid: string;
  readonly name: string | null;
  /** Null while the child is being started. */
  readonly pid: number | null;
  readonly argv: readonly string[];
  readonly cwd: NativePath;
  readonly tty: boolean;
  /** The size of its terminal; null without one. */
  readonly size: TerminalSize | null;
  readonly ageMs: number;
  /** Since its last output; null when it has written nothing. */
  readonly silentMs: number | null;
  readonly keepOnSessionEnd: boolean;
  readonly outputMode: OutputMode;
  /** What its client has not acknowledged, as it is counted against the window. */
  readonly unacknowledgedBytes: number;
  /** It cannot write on before its client acknowledges output. */
  readonly waitsForAck: boolean;
}
