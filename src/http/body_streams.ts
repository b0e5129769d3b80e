/**
 * Bodies on their way to the client, piece by piece, never ahead of the room there is.
 *
 * Promises of one stream: sequence numbers from 1 without gaps; exactly one last piece, which is empty; nothing after
 * it; and nothing at all once nobody listens.
 */

import type { Body } from "./body.ts";
import { READING_MS } from "./limits.ts";

export interface BodyDelta {
  readonly requestId: string;
  readonly seq: number;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly done: boolean;
  /** Why the body ended early; only on the last piece. */
  readonly error: string | null;
}

export interface BodyDeltaSink {
  /** Takes the piece, whether there is room or not. Does not throw. */
  delta(delta: BodyDelta): void;
  /** False: streams pause. The owner of the sink calls `resume` when there is room again. */
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

/** How long one body has been read without a turn for others. */
export class Pace {
  readonly #turn: (() => Promise<void>) | undefined;
  #begunAtMs = performance.now();

  constructor(turn: (() => Promise<void>) | undefined) {
    this.#turn = turn;
  }

  get isOver(): boolean {
    return this.#turn !== undefined && performance.now() - this.#begunAtMs >= READING_MS;
  }

  async rest(): Promise<void> {
    await this.#turn?.();
    this.#begunAtMs = performance.now();
  }
}

export class BodyStreams {
  readonly #sink: BodyDeltaSink;
  readonly #turn: (() => Promise<void>) | undefined;
  /** Streams that hold a piece for which there is no room, the longest wait first. */
  readonly #parked = new Set<() => void>();

  /** `turn` resolves when everything else has had a turn. */
  constructor(sink: BodyDeltaSink, turn?: () => Promise<void>) {
    this.#sink = sink;
    this.#turn = turn;
  }

  /** Sends a whole body. Resolves when its last piece has been sent, or nobody listens any more. Never rejects. */
  async pump({ requestId, body, signal, describeFailure }: StreamOptions): Promise<void> {
    let seq = 1;
    let error: string | null = null;
    const pace = new Pace(this.#turn);
    try {
      for (let bytes = await body.read(); bytes !== null && !signal.aborted; bytes = await body.read()) {
        const delta: BodyDelta = { requestId, seq: seq++, bytes, done: false, error: null };
        // After those already parked, or a stream that never pauses would starve the others.
        if (this.#sink.hasRoom && this.#parked.size === 0) this.#sink.delta(delta);
        else await this.#park(delta, signal);
        if (pace.isOver) await pace.rest();
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
