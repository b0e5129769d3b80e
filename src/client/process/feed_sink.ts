/** The events of one process, and the interface of their receiver. */

import type { EndReason } from "../../protocol/process_results.ts";
import type { OutputMessage } from "../session/inbound.ts";

/** The names of streams on the wire. */
export type StreamName = OutputMessage["stream"];

/** How a process ended, as far as the server said. */
export interface ExitReport {
  readonly exitCode: number | null;
  readonly sandboxDenied: boolean;
  readonly endReason: EndReason | null;
  readonly signal: string | null;
  readonly networkDenials: readonly { readonly call: string; readonly program: string | null }[] | null;
  /** What the server could not do, in words for people. */
  readonly failure: string | null;
}

/** Output that is lost. */
export interface OutputGap {
  /** The number of the last event before it. */
  readonly afterSeq: number;
  /** Null: the server cannot tell how much. */
  readonly droppedBytes: number | null;
}

/** Takes the events of one process, in order. */
export interface FeedSink {
  output(seq: number, stream: StreamName, bytes: Uint8Array<ArrayBuffer>): void;
  exited(report: ExitReport): void;
  /** The last event. */
  closed(): void;
  gap(gap: OutputGap): void;
  /** Nothing more will come, and why. */
  failed(error: Error): void;
  /** Resolves when more may be fetched. */
  room(): Promise<void>;
}
