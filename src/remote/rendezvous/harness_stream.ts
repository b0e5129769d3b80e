/**
 * One stream between an executor and a harness, as the rendezvous sees it: whose it is, and what of it is on its way.
 *
 * An executor that understands it is told what has left for the harness, and keeps no more than a window on its way. One
 * that sends more all the same has broken its word.
 */

import type { Bytes } from "../../bytes.ts";
import type { RelayFrameEncoder } from "../relay/relay_frame.ts";
import type { HarnessLine } from "./harness_line.ts";
import { ACK_BYTES, STREAM_WINDOW_BYTES } from "./limits.ts";

export interface HarnessStreamOptions {
  readonly line: HarnessLine;
  readonly frames: RelayFrameEncoder;
  /** Tells the executor; null for one that would not understand. */
  readonly acknowledge: ((frame: Bytes) => void) | null;
}

export class HarnessStream {
  readonly line: HarnessLine;
  readonly #frames: RelayFrameEncoder;
  readonly #acknowledge: ((frame: Bytes) => void) | null;
  /** Bytes of payloads since the last acknowledgement: those that came, and those of them that have left. */
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

  /** Passes on a data frame of the executor, which is lent. A promise: nothing more is to be read from it meanwhile. */
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
