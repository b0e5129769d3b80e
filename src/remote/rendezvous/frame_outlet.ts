/**
 * The writing half of a frame socket: pieces of the partner's frames, and control frames of our own between them.
 *
 * Promises: one writer at a time; no control frame within another frame; pings and pongs do not pile up. The owner
 * closes the stream.
 */

import type { Bytes } from "../../bytes.ts";
import type { Clock } from "../../clock.ts";
import type { ByteStream } from "../../transport/byte_stream.ts";
import { encodeFrame, OPCODE } from "../../transport/websocket/websocket_frames.ts";

/** A write that takes longer has waited for the peer. */
const WAITED_MS = 50;

export interface FrameOutletOptions {
  readonly clock: Clock;
  /**
   * Called when the peer has read bytes that had to wait. Bytes that the kernel accepts at once say nothing about the
   * peer.
   */
  readonly onTaken: () => void;
  /** Called when a control frame could not be written. Failures of pieces are reported by `send`. */
  readonly onFailure: (error: unknown) => void;
}

export class FrameOutlet {
  readonly #stream: ByteStream;
  readonly #options: FrameOutletOptions;
  /** The write under way; others wait for it. */
  #writing: Promise<void> | null = null;
  /** Whether the last piece ended within a frame: then control frames wait. */
  #isWithinFrame = false;
  #pendingPong: Bytes | null = null;
  #isFinishing = false;
  #isClosed = false;

  constructor(stream: ByteStream, options: FrameOutletOptions) {
    this.#stream = stream;
    this.#options = options;
  }

  /** Sends a piece of frames. Returns null if it has left at once. Rejects if the connection is gone. */
  send(piece: Bytes, endsWithinFrame: boolean): Promise<void> | null {
    if (this.#isFinishing || this.#isClosed) return Promise.reject(new Error("the other side has gone"));
    if (this.#writing !== null || this.#stream.writeNow === undefined) return this.#sendRest(piece, endsWithinFrame);
    const taken = this.#stream.writeNow(piece);
    if (taken < piece.length) return this.#sendRest(piece.subarray(taken), endsWithinFrame);
    this.#isWithinFrame = endsWithinFrame;
    this.#flushPong();
    return null;
  }

  /** Not while data is under way: that data itself shows whether the peer is alive. */
  ping(): void {
    if (this.#mayWriteControl) this.#writeControl(encodeFrame(OPCODE.ping, new Uint8Array(0)));
  }

  /** At most one pong waits: the RFC lets us answer only the latest ping. */
  pong(payload: Bytes): void {
    const frame = encodeFrame(OPCODE.pong, payload);
    if (this.#mayWriteControl) this.#writeControl(frame);
    else this.#pendingPong = frame;
  }

  /** Accepts no more. Lets what was sent leave, then this frame, and ends our side of the stream. */
  async finish(lastFrame: Bytes | null): Promise<void> {
    this.#isFinishing = true;
    while (this.#writing !== null) await this.#writing;
    // After half a frame the peer would read a close frame as content.
    if (lastFrame !== null && !this.#isWithinFrame) await this.#write(lastFrame);
    if (!this.#isClosed) await this.#stream.closeWrite();
  }

  /** The stream is being closed: nothing more can leave. */
  close(): void {
    this.#isClosed = true;
  }

  async #sendRest(piece: Bytes, endsWithinFrame: boolean): Promise<void> {
    // Until the whole piece has left, control frames have to wait, as they do within a frame.
    this.#isWithinFrame = true;
    while (this.#writing !== null) await this.#writing;
    await this.#write(piece);
    this.#isWithinFrame = endsWithinFrame;
    this.#flushPong();
  }

  #write(bytes: Bytes): Promise<void> {
    const writing = this.#writeAll(bytes).finally(() => {
      if (this.#writing === writing) this.#writing = null;
    });
    this.#writing = writing;
    return writing;
  }

  async #writeAll(bytes: Bytes): Promise<void> {
    const { clock, onTaken } = this.#options;
    for (let written = 0; written < bytes.length;) {
      if (this.#isClosed) throw new Error("the connection is closed");
      const begunMs = clock.now();
      written += await this.#stream.write(written === 0 ? bytes : bytes.subarray(written));
      if (clock.now() - begunMs >= WAITED_MS) onTaken();
    }
  }

  get #mayWriteControl(): boolean {
    return this.#writing === null && !this.#isWithinFrame && !this.#isFinishing && !this.#isClosed;
  }

  #flushPong(): void {
    const pong = this.#pendingPong;
    if (pong === null || !this.#mayWriteControl) return;
    this.#pendingPong = null;
    this.#writeControl(pong);
  }

  #writeControl(frame: Bytes): void {
    this.#write(frame).catch(this.#options.onFailure);
  }
}
