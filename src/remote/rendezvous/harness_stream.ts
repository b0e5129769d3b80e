/**
 * One stream between an executor and a harness, as the rendezvous sees it: whose it is, and how much of it is under
 * way.
 *
 * An executor that understands acknowledgements is told what has left for the harness, and keeps no more than a window
 * under way. If it sends more, it breaks the rules.
 */

import type { Bytes } from "../../bytes.ts";
import type { RelayFrameEncoder } from "../relay/relay_frame.ts";
import type { HarnessLine } from "./harness_line.ts";
import { ACK_BYTES, STREAM_WINDOW_BYTES } from "./limits.ts";

export interface HarnessStreamOptions {
  readonly line: HarnessLine;
  readonly frames: RelayFrameEncoder;
  /** Acknowledges to the executor; null if it would not understand. */
  readonly acknowledge: ((frame: Bytes) => void) | null;
}

export class HarnessStream {
  readonly line: HarnessLine;
  readonly #frames: RelayFrameEncoder;
  readonly #acknowledge: ((frame: Bytes) => void) | null;
  /** How many bytes of payloads have come since the last acknowledgement, and how many of them have left. */
  #unacknowledgedBytes = 0;
  #leftBytes = 0;

  constructor({ line, frames, acknowledge }: HarnessStreamOptions) {
    this.line = line;
    this.#frames = frames;
    this.#acknowledge = acknowledge;
  }

  /** Whether the executor is told what has left. */
  get isAcknowledged(): boolean {
    return this.#acknowledge !== null;
  }

  /** Whether the executor keeps within its window with this many bytes more. */
  mayTake(payloadBytes: number): boolean {
    return this.#acknowledge === null || this.#unacknowledgedBytes + payloadBytes <= STREAM_WINDOW_BYTES;
  }

  /**
   * Passes on a data frame of the executor. The frame is lent. If this returns a promise, do not read more from the
   * executor before it resolves.
   */
  passData(message: Bytes, seq: number, payloadBytes: number): void | Promise<void> {
    const acknowledge = this.#acknowledge;
    if (acknowledge === null) return this.line.passHolding(message);
    this.#unacknowledgedBytes += payloadBytes;
    this.line.pass(message, () => {
      this.#leftBytes += payloadBytes;
      if (this.#leftBytes < ACK_BYTES) return;
      this.#unacknowledgedBytes -= this.#leftBytes;
      this.#leftBytes = 0;
      acknowledge(this.#frames.ack(seq));
    });
  }
}
