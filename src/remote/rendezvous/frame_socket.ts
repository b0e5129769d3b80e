/**
 * One websocket of a pair. Each passes the frames that it gets on to its partner.
 *
 * Promises: at most one buffer of data is held, however long frames are; nothing is read while the partner does not
 * accept more, so that TCP slows the sender down; pings are sent and answered here; a silent peer is dropped; `run`
 * resolves exactly once, after which the stream is closed. Others decide which sockets are partners.
 */

import type { Bytes } from "../../bytes.ts";
import type { Clock } from "../../clock.ts";
import { messageOf } from "../../errors.ts";
import type { ByteStream } from "../../transport/byte_stream.ts";
import { CLOSE_CODE, encodeCloseFrame, encodeFrame, OPCODE } from "../../transport/websocket/websocket_frames.ts";
import { FrameOutlet } from "./frame_outlet.ts";
import { FrameRewriter, MIN_REWRITE_BYTES } from "./frame_rewriter.ts";
import { LINGER_MS, MAX_SILENT_MS, PING_INTERVAL_MS } from "./limits.ts";

export interface FrameSocketOptions {
  readonly clock: Clock;
  /** Bytes that came behind the handshake in the same packet. */
  readonly initialBytes: Uint8Array;
  /** Resolves when other work has had a turn. */
  readonly turn: () => Promise<void>;
  readonly pingIntervalMs?: number;
  readonly maxSilentMs?: number;
}

/** Why a socket ended, and the close code for its partner. */
export interface SocketEnd {
  readonly by: "peer" | "us" | "violation" | "silence" | "failure";
  readonly code: number;
  readonly reason: string;
}

/** The buffer of an idle socket. */
const IDLE_READ_BYTES = 4 * 1024;
/** The buffer of a busy socket: so large that system calls cost little, so small that there can be thousands. */
const BUSY_READ_BYTES = 128 * 1024;
/** How long one socket may pass on without a pause. */
const SLICE_MS = 2;

export class FrameSocket {
  readonly #stream: ByteStream;
  readonly #options: FrameSocketOptions;
  readonly #rewriter = new FrameRewriter();
  readonly #outlet: FrameOutlet;
  #buffer: Bytes;
  #filled: number;

  #partner: FrameSocket | null = null;
  readonly #hasPartner = Promise.withResolvers<void>();

  #end: SocketEnd | null = null;
  readonly #ending = Promise.withResolvers<SocketEnd>();
  /** The peer has sent a close frame. What it sent before is passed on first. */
  #goodbye: (() => void) | null = null;
  #interrupt: () => void = () => {};
  #isStreamClosed = false;
  #lifeSignAtMs: number;
  #onLifeSign: (() => void) | null = null;
  #cancelPing: () => void = () => {};
  #cancelLinger: () => void = () => {};
  #receivedBytes = 0;

  constructor(stream: ByteStream, options: FrameSocketOptions) {
    this.#stream = stream;
    this.#options = options;
    this.#outlet = new FrameOutlet(stream, {
      clock: options.clock,
      onTaken: () => this.#lifeSignAtMs = options.clock.now(),
      onFailure: (error) => this.#drop({ by: "failure", code: CLOSE_CODE.internalError, reason: String(error) }),
    });
    this.#buffer = new Uint8Array(Math.max(IDLE_READ_BYTES, options.initialBytes.length));
    this.#buffer.set(options.initialBytes);
    this.#filled = options.initialBytes.length;
    this.#lifeSignAtMs = options.clock.now();
    this.#schedulePing();
  }

  /** How many bytes came from the peer, with all headers. */
  get receivedBytes(): number {
    return this.#receivedBytes;
  }

  /** Resolves when the connection begins to end: what came before has been passed on, but the peer may still be there. */
  get ending(): Promise<SocketEnd> {
    return this.#ending.promise;
  }

  get isEnded(): boolean {
    return this.#end !== null;
  }

  /** For how long the peer was silent. */
  get silentMs(): number {
    return this.#options.clock.now() - this.#lifeSignAtMs;
  }

  /** From now on the peer's frames go to this partner. Before that, the peer may only send pings. */
  passTo(partner: FrameSocket): void {
    this.#partner = partner;
    this.#hasPartner.resolve();
  }

  /** Reads until the connection ends, and resolves when the stream is closed. Call it once. */
  async run(): Promise<SocketEnd> {
    try {
      let sliceBegunMs = performance.now();
      while (this.#end === null) {
        const hasPassed = await this.#passOn();
        if (this.#end !== null) break;
        if (hasPassed && performance.now() - sliceBegunMs > SLICE_MS) {
          await this.#options.turn();
          sliceBegunMs = performance.now();
        }
        if (!await this.#fill()) this.#endWith({ by: "peer", code: CLOSE_CODE.normal, reason: "" }, null);
      }
      await this.#discardUntilClosed();
    } catch (error) {
      const reason = messageOf(error);
      this.#endWith({ by: "failure", code: CLOSE_CODE.internalError, reason }, null);
    } finally {
      this.#closeStream();
    }
    return this.#end!;
  }

  /** Asks for a sign of life. False: none came within this time. Then the socket is dropped. */
  async isAlive(withinMs: number): Promise<boolean> {
    if (this.#end !== null) return false;
    const sign = new Promise<true>((resolve) => this.#onLifeSign = () => resolve(true));
    this.#outlet.ping();
    let cancel = () => {};
    const late = new Promise<false>((resolve) => {
      cancel = this.#options.clock.setTimer(withinMs, () => resolve(false));
    });
    const isAlive = await Promise.race([sign, late]) && !this.isEnded;
    cancel();
    if (!isAlive) this.#drop({ by: "silence", code: CLOSE_CODE.normal, reason: `no sign of life in ${withinMs} ms` });
    return isAlive;
  }

  /** Ends the connection. A close frame says why. Idempotent. */
  close(code: number, reason: string): void {
    this.#endWith({ by: "us", code, reason }, encodeCloseFrame(code, reason));
  }

  // ------------------------------------------------------------ reading

  /** Passes on what has arrived. Returns whether there was anything. */
  async #passOn(): Promise<boolean> {
    if (this.#filled === 0) return false;
    if (!this.#isControlNext() && !await this.#partnerIsThere()) return false;
    const result = this.#rewriter.rewrite(
      this.#buffer,
      this.#filled,
      (opcode, payload) => this.#control(opcode, payload),
    );
    if (result.outEnd > 0) {
      if (!await this.#partnerIsThere()) return false;
      const sent = this.#partner!.#outlet.send(this.#buffer.subarray(0, result.outEnd), this.#rewriter.isWithinFrame);
      if (sent !== null) await sent;
    }
    if (result.type === "violation") {
      const { reason, closeCode } = result;
      this.#endWith({ by: "violation", code: closeCode, reason }, encodeCloseFrame(closeCode, reason));
      return false;
    }
    this.#buffer.copyWithin(0, result.rest, this.#filled);
    this.#filled -= result.rest;
    this.#goodbye?.();
    return result.outEnd > 0;
  }

  /** Waits for a partner; nothing is read meanwhile. False: this socket ended first. */
  async #partnerIsThere(): Promise<boolean> {
    if (this.#partner === null) {
      await new Promise<void>((resolve) => {
        this.#interrupt = resolve;
        this.#hasPartner.promise.then(resolve);
      });
    }
    return this.#partner !== null && this.#end === null;
  }

  /** Whether the next frame does not need a partner. */
  #isControlNext(): boolean {
    return !this.#rewriter.isWithinFrame && (this.#buffer[0]! & 0x0f) >= OPCODE.close;
  }

  async #fill(): Promise<boolean> {
    const room = this.#buffer.length - this.#filled;
    if (room < MIN_REWRITE_BYTES) this.#grow();
    const read = await this.#stream.read(this.#buffer.subarray(this.#filled));
    if (read === null) return false;
    this.#receivedBytes += read;
    this.#filled += read;
    // The next read gets a larger buffer: this peer sends much.
    if (read === room) this.#grow();
    this.#showLife();
    return true;
  }

  #grow(): void {
    if (this.#buffer.length >= BUSY_READ_BYTES) return;
    const grown = new Uint8Array(BUSY_READ_BYTES);
    grown.set(this.#buffer.subarray(0, this.#filled));
    this.#buffer = grown;
  }

  /** False: nothing more is to be read. */
  #control(opcode: number, payload: Bytes): boolean {
    if (opcode === OPCODE.ping) this.#outlet.pong(payload);
    if (opcode !== OPCODE.close) return true;
    const code = payload.length >= 2 ? (payload[0]! << 8) | payload[1]! : CLOSE_CODE.normal;
    const reason = new TextDecoder().decode(payload.subarray(2));
    const echo = encodeFrame(OPCODE.close, payload.subarray(0, 2));
    this.#goodbye = () => this.#endWith({ by: "peer", code, reason }, echo);
    return false;
  }

  #showLife(): void {
    this.#lifeSignAtMs = this.#options.clock.now();
    this.#onLifeSign?.();
    this.#onLifeSign = null;
  }

  // ------------------------------------------------------------ ending

  #schedulePing(): void {
    const { clock, pingIntervalMs = PING_INTERVAL_MS, maxSilentMs = MAX_SILENT_MS } = this.#options;
    this.#cancelPing = clock.setTimer(pingIntervalMs, () => {
      if (this.silentMs >= maxSilentMs) {
        const reason = `no sign of life in ${Math.round(this.silentMs)} ms`;
        return this.#drop({ by: "silence", code: CLOSE_CODE.normal, reason });
      }
      this.#outlet.ping();
      this.#schedulePing();
    });
  }

  #endWith(end: SocketEnd, lastFrame: Bytes | null): void {
    if (this.#end !== null) return;
    this.#setEnd(end);
    this.#cancelPing();
    this.#interrupt();
    this.#onLifeSign?.();
    if (this.#isStreamClosed) return;
    this.#cancelLinger = this.#options.clock.setTimer(LINGER_MS, () => this.#closeStream());
    this.#outlet.finish(lastFrame).catch(() => {
      // The peer has closed already.
    });
  }

  #setEnd(end: SocketEnd): void {
    this.#end = end;
    this.#ending.resolve(end);
  }

  /** Ends at once: the peer is gone. */
  #drop(end: SocketEnd): void {
    if (this.#end === null) this.#setEnd(end);
    this.#closeStream();
  }

  /** Keeps reading, so that closing does not discard our last words. The linger timer ends it. */
  async #discardUntilClosed(): Promise<void> {
    while (!this.#isStreamClosed && await this.#stream.read(this.#buffer) !== null) { /* dropped */ }
  }

  #closeStream(): void {
    if (this.#isStreamClosed) return;
    this.#isStreamClosed = true;
    this.#outlet.close();
    this.#cancelPing();
    this.#cancelLinger();
    this.#interrupt();
    this.#onLifeSign?.();
    try {
      this.#stream.close();
    } catch {
      // The failure has closed it already.
    }
  }
}
