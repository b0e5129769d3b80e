/**
 * Bodies on their way to the client, piece by piece, none of them ahead of the room there is.
 *
 * Promises of one stream: sequence numbers from 1 without gaps; exactly one last piece, which has no bytes; nothing after
 * it; nothing at all once nobody listens.
 */

import type { Body } from "./body.ts";

export interface BodyDelta {
  readonly requestId: string;
  readonly seq: number;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly done: boolean;
  /** Why the body ended early; only on the last piece. */
  readonly error: string | null;
}

export interface BodyDeltaSink {
  /** Takes the piece, room or not. Does not throw. */
  delta(delta: BodyDelta): void;
  /** False: streams pause. Whoever owns the sink then calls `resume` when there is room again. */
  readonly hasRoom: boolean;
}

export interface StreamOptions {
  readonly requestId: string;
  readonly body: Body;
  /** Nobody listens any more. */
  readonly signal: AbortSignal;
  /** Why reading failed, in words for the client. */
  describeFailure(error: unknown): string;
}

const NO_BYTES = new Uint8Array(0);

export class BodyStreams {
  readonly #sink: BodyDeltaSink;
  /** Streams that hold a piece there is no room for, the longest wait first. */
  readonly #parked = new Set<() => void>();

  constructor(sink: BodyDeltaSink) {
    this.#sink = sink;
  }

  /** Sends a whole body. Resolves when its last piece has been sent, or nobody listens any more. Never rejects. */
  async pump({ requestId, body, signal, describeFailure }: StreamOptions): Promise<void> {
    let seq = 1;
    let error: string | null = null;
    try {
      for (let bytes = await body.read(); bytes !== null && !signal.aborted; bytes = await body.read()) {
        const delta: BodyDelta = { requestId, seq: seq++, bytes, done: false, error: null };
        // Behind what is parked already, or a stream that never pauses would starve the others.
        if (this.#sink.hasRoom && this.#parked.size === 0) this.#sink.delta(delta);
        else await this.#park(delta, signal);
      }
    } catch (failure) {
      error = describeFailure(failure);
    }
    if (!signal.aborted) this.#sink.delta({ requestId, seq, bytes: NO_BYTES, done: true, error });
  }

  /** To be called when the sink has room again. */
  resume(): void {
    for (const send of this.#parked) {
      if (!this.#sink.hasRoom) return;
      send();
    }
  }

  #park(delta: BodyDelta, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const leave = (): void => {
        this.#parked.delete(send);
        signal.removeEventListener("abort", leave);
        resolve();
      };
      const send = (): void => {
        this.#sink.delta(delta);
        leave();
      };
      this.#parked.add(send);
      signal.addEventListener("abort", leave);
      if (signal.aborted) leave();
    });
  }
}
