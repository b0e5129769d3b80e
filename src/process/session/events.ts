/**
 * What processes report unasked, and where it goes: to the connection that holds the session now, if any.
 *
 * Promises of one process's events: `started` first; then output, `exited` once and `closed` once, with consecutive
 * sequence numbers from 1; output may follow `exited`; nothing follows `closed`. What happens while no sink is attached
 * is not sent later: it can be read.
 */

import type { NetworkDenial } from "../backend.ts";
import type { OutputChunk } from "./output_log.ts";
import type { ProcessExit } from "./process_views.ts";
import type { TerminalSize } from "./viewers.ts";

export type ProcessEvent =
  | { readonly type: "started"; readonly processId: string }
  /** The child could not be started. The only event of its process. */
  | { readonly type: "failed"; readonly processId: string; readonly message: string }
  /** The bytes are also retained for later reads: a sink encodes or copies, and never changes or transfers them. */
  | { readonly type: "output"; readonly processId: string; readonly chunk: OutputChunk }
  | {
    readonly type: "exited";
    readonly processId: string;
    readonly seq: number;
    readonly exit: ProcessExit;
    readonly networkDenials: readonly NetworkDenial[] | null;
  }
  | { readonly type: "closed"; readonly processId: string; readonly seq: number }
  /** The size of the terminal has changed. `by` is the party that asked for it. May come at any time. */
  | {
    readonly type: "resized";
    readonly processId: string;
    readonly uid: string;
    readonly size: TerminalSize;
    readonly by: unknown;
  };

export interface ProcessEventSink {
  /**
   * Takes the event, whether there is room or not: output without room is paused at its source, never dropped. Does not
   * throw.
   */
  event(event: ProcessEvent): void;
  /** False: sources of output pause. The owner of the sink calls `resumeOutput` when there is room again. */
  readonly hasRoom: boolean;
}
