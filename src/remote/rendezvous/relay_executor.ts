/**
 * An executor that serves many clients over one websocket. Each message names the stream that it belongs to.
 *
 * Promises (duties 1, 2 and 4 of a rendezvous): a stream belongs to the harness that used its id first; when a harness
 * ends, the executor is told that its streams are over; when the executor ends, every harness is told. Payloads are
 * passed on unchanged. Each harness has its own queue, so one that reads slowly does not delay others
 * (`harness_line.ts` has the exception).
 */

import type { Clock } from "../../clock.ts";
import type { MessageSocket, RawMessage } from "../../transport/websocket/message_socket.ts";
import { MAX_STREAMS } from "../relay/limits.ts";
import { MalformedMessage } from "../relay/protobuf.ts";
import { decodeRelayFrame, RELAY_VERSION, type RelayFrame, RelayFrameEncoder } from "../relay/relay_frame.ts";
import type { Executor, ExecutorKind, Registration } from "./executor.ts";
import { HarnessLine } from "./harness_line.ts";
import { HarnessStream } from "./harness_stream.ts";

/** Reasons of a reset, in the style of the reference's. */
const RESET = {
  harnessGone: "harness_disconnected",
  executorGone: "executor_disconnected",
  foreignStream: "stream_id_in_use",
  tooManyStreams: "too_many_streams",
  windowExceeded: "stream_window_exceeded",
} as const;

/** How much was passed on for a harness. */
export interface HarnessTraffic {
  readonly streams: number;
  readonly bytesToExecutor: number;
  readonly bytesToClient: number;
}

export interface RelayExecutorOptions {
  readonly clock: Clock;
  /** Called when a websocket has come or gone. */
  readonly onChange: () => void;
}

export class RelayExecutor implements Executor {
  readonly kind: ExecutorKind;
  registration: Registration;
  readonly #options: RelayExecutorOptions;
  #socket: MessageSocket | null = null;
  /** The registration whose URL the websocket used: harnesses must be told what this executor knows. */
  #servedRegistration: Registration | null = null;
  #connectedSince: Date | null = null;
  readonly #lines = new Set<HarnessLine>();
  readonly #streams = new Map<string, HarnessStream>();

  constructor(registration: Registration, options: RelayExecutorOptions) {
    this.kind = registration.kind;
    this.registration = registration;
    this.#options = options;
  }

  get isConnected(): boolean {
    return this.#socket !== null;
  }

  get connectedSince(): Date | null {
    return this.#connectedSince;
  }

  get silentMs(): number | null {
    return this.#socket?.silentMs ?? null;
  }

  get clients(): number {
    return this.#lines.size;
  }

  /** The registration of the open websocket. */
  get servedRegistration(): Registration | null {
    return this.#servedRegistration;
  }

  /**
   * Serves the executor's websocket until it ends. When the executor comes back, the new websocket replaces the old
   * one.
   */
  async serve(socket: MessageSocket, registration: Registration): Promise<void> {
    this.#replace(socket, registration);
    try {
      await socket.receive((message) => this.#fromExecutor(socket, message), () => this.#gone(socket));
    } finally {
      this.#gone(socket);
    }
  }

  /** Serves the websocket of a harness until it ends. */
  async serveHarness(socket: MessageSocket): Promise<HarnessTraffic> {
    const line = new HarnessLine(socket, this.#options.clock);
    this.#lines.add(line);
    let bytesToExecutor = 0;
    try {
      await socket.receive((message) => {
        bytesToExecutor += message.bytes.length;
        return this.#fromHarness(line, message);
      }, () => this.#harnessGone(line));
    } finally {
      this.#harnessGone(line);
    }
    return { streams: line.streamCount, bytesToExecutor, bytesToClient: line.sentBytes };
  }

  /**
   * Whether the URL of this registration may be used once more: only if the websocket that used it has gone, or gives
   * no sign of life. So someone who has only seen the URL cannot replace a living executor.
   */
  async mayComeBack(registrationId: string, withinMs: number): Promise<boolean> {
    const before = this.#socket;
    if (before === null || this.#servedRegistration?.registrationId !== registrationId) return true;
    return !await this.isAlive(withinMs) && (this.#socket === null || this.#socket === before);
  }

  async isAlive(withinMs: number): Promise<boolean> {
    const socket = this.#socket;
    if (socket === null) return false;
    const { clock } = this.#options;
    const askedAtMs = clock.now();
    // This drops it if no sign comes.
    socket.probe(withinMs);
    await new Promise<void>((resolve) => clock.setTimer(withinMs, resolve));
    // Not `withinMs`: on a busy machine the timer is late, and then an early answer is older than that.
    return this.#socket === socket && socket.silentMs <= clock.now() - askedAtMs;
  }

  close(reason: string): void {
    const socket = this.#socket;
    if (socket === null) return;
    socket.close({ cause: "violation", reason });
    this.#gone(socket);
  }

  #replace(socket: MessageSocket, registration: Registration): void {
    const before = this.#socket;
    if (before !== null) {
      before.close({ cause: "done", reason: "the executor has opened another websocket" });
      this.#gone(before);
    }
    this.#socket = socket;
    this.#servedRegistration = registration;
    this.#connectedSince = new Date();
    this.#options.onChange();
  }

  /** Tells every harness that its streams have ended, and drops it. The harness asks for a new place. */
  #gone(socket: MessageSocket): void {
    if (this.#socket !== socket) return;
    this.#socket = null;
    this.#servedRegistration = null;
    this.#connectedSince = null;
    this.#streams.clear();
    for (const line of this.#lines) {
      for (const streamId of line.streams) line.tell(new RelayFrameEncoder(streamId).reset(RESET.executorGone));
      line.streams.clear();
      line.finish({ cause: "done", reason: "the executor has gone" });
    }
    this.#options.onChange();
  }

  #harnessGone(line: HarnessLine): void {
    if (!this.#lines.delete(line)) return;
    for (const streamId of line.streams) {
      this.#streams.delete(streamId);
      this.#tellExecutor(new RelayFrameEncoder(streamId).reset(RESET.harnessGone));
    }
    line.streams.clear();
    line.end();
  }

  #fromExecutor(socket: MessageSocket, message: RawMessage): void | Promise<void> {
    const frame = readFrame(message);
    const stream = frame === null || this.#socket !== socket ? undefined : this.#streams.get(frame.streamId);
    // The harness of this stream has just gone, which the executor does not know yet.
    if (frame === null || stream === undefined) return;
    const { streamId, body } = frame;
    const { line } = stream;
    if (body?.type === "data") {
      const payloadBytes = body.payload.length;
      if (stream.mayTake(payloadBytes)) return stream.passData(message.bytes, body.seq, payloadBytes);
      this.#forget(streamId, line);
      const reset = new RelayFrameEncoder(streamId).reset(RESET.windowExceeded);
      this.#tellExecutor(reset);
      return line.tell(reset);
    }
    if (body?.type === "reset") this.#forget(streamId, line);
    return line.passHolding(message.bytes);
  }

  /** While the promise is pending, nothing more is read from the harness, because the executor reads slowly. */
  #fromHarness(line: HarnessLine, message: RawMessage): void | Promise<void> {
    const frame = readFrame(message);
    const socket = this.#socket;
    if (frame === null || socket === null) return;
    const { streamId } = frame;
    const stream = this.#streams.get(streamId);
    if (stream !== undefined && stream.line !== line) {
      return line.tell(new RelayFrameEncoder(streamId).reset(RESET.foreignStream));
    }
    // Acknowledgements come only from the rendezvous: a harness must not be able to make its executor send more than it
    // reads.
    if (frame.body?.type === "ack" && stream?.isAcknowledged) return;
    if (frame.body?.type === "reset") this.#forget(streamId, line);
    else if (stream === undefined) {
      if (this.#streams.size >= MAX_STREAMS) {
        return line.tell(new RelayFrameEncoder(streamId).reset(RESET.tooManyStreams));
      }
      this.#streams.set(streamId, this.#openStream(streamId, line));
      line.streams.add(streamId);
      line.streamCount++;
    }
    return socket.send([message]).catch(() => {
      // The executor has gone. Its end is handled elsewhere.
    });
  }

  #openStream(streamId: string, line: HarnessLine): HarnessStream {
    const socket = this.#socket;
    const canBeTold = this.#servedRegistration?.hasStreamAcks === true;
    const acknowledge = (frame: Uint8Array<ArrayBuffer>) => {
      if (this.#socket === socket) this.#tellExecutor(frame);
    };
    return new HarnessStream({
      line,
      frames: new RelayFrameEncoder(streamId),
      acknowledge: canBeTold ? acknowledge : null,
    });
  }

  #forget(streamId: string, line: HarnessLine): void {
    this.#streams.delete(streamId);
    line.streams.delete(streamId);
  }

  #tellExecutor(bytes: Uint8Array<ArrayBuffer>): void {
    this.#socket?.send([{ isText: false, bytes }]).catch(() => {
      // The executor has gone. Its end is handled elsewhere.
    });
  }
}

/**
 * Null for messages that are silently dropped: texts, malformed frames, other versions, and frames without a stream.
 */
function readFrame({ isText, bytes }: RawMessage): RelayFrame | null {
  if (isText) return null;
  try {
    const frame = decodeRelayFrame(bytes);
    return frame.version === RELAY_VERSION && frame.streamId !== "" ? frame : null;
  } catch (error) {
    if (error instanceof MalformedMessage) return null;
    throw error;
  }
}
