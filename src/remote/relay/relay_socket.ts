/**
 * A websocket that carries relay frames: messages in and out, one frame each. The one place where frames are read.
 *
 * Like the reference, it ignores text messages and anything that is not a frame. The owner interprets the frames.
 */

import type { Bytes } from "../../bytes.ts";
import type { Farewell, LinkEnd } from "../../rpc/link.ts";
import { MalformedMessage } from "./protobuf.ts";
import { decodeRelayFrame, RELAY_VERSION, type RelayBody } from "./relay_frame.ts";

/** A websocket of raw messages. `MessageSocket` is one. */
export interface RawSocket {
  receive(receiver: (message: { isText: boolean; bytes: Bytes }) => void | Promise<void>): Promise<LinkEnd>;
  send(messages: readonly { isText: boolean; bytes: Bytes }[]): Promise<void>;
  probe(withinMs: number): void;
  close(farewell?: Farewell): void;
}

/**
 * How many frames may wait that were sent without waiting: resets, and answers to handshakes. A peer that does not read
 * them and causes more is not a client.
 */
const MAX_SOON_FRAMES = 1024;

export class RelaySocket {
  readonly #socket: RawSocket;
  #soonFrames = 0;

  constructor(socket: RawSocket) {
    this.#socket = socket;
  }

  /** Delivers every frame until the websocket ends. Payloads are lent. */
  run(onFrame: (streamId: string, body: RelayBody) => void | Promise<void>): Promise<LinkEnd> {
    return this.#socket.receive(({ isText, bytes }) => {
      const frame = isText ? null : frameIn(bytes);
      if (frame === null || frame.version !== RELAY_VERSION || frame.body === null) return;
      return onFrame(frame.streamId, frame.body);
    });
  }

  send(frames: readonly Bytes[]): Promise<void> {
    return this.#socket.send(frames.map((bytes) => ({ isText: false, bytes })));
  }

  sendSoon(frame: Bytes): void {
    if (this.#soonFrames >= MAX_SOON_FRAMES) {
      return this.#socket.close({ cause: "violation", reason: "too many frames that are not read" });
    }
    this.#soonFrames++;
    // If it cannot be sent, the websocket is gone, and its end is reported elsewhere.
    this.send([frame]).catch(() => {}).finally(() => this.#soonFrames--);
  }

  probe(withinMs: number): void {
    this.#socket.probe(withinMs);
  }

  close(farewell?: Farewell): void {
    this.#socket.close(farewell);
  }
}

function frameIn(bytes: Bytes): ReturnType<typeof decodeRelayFrame> | null {
  try {
    return decodeRelayFrame(bytes);
  } catch (error) {
    if (error instanceof MalformedMessage) return null;
    throw error;
  }
}
