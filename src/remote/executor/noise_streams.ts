/**
 * The executor's side of one relay websocket: handshakes become links, and frames find their link.
 *
 * Promises: a stream that breaks a rule is reset, without effect on others; nobody is served before the registry has
 * agreed; the numbers of streams, of handshakes under way and of waiting bytes are bounded.
 */

import type { Clock } from "../../clock.ts";
import { messageOf } from "../../errors.ts";
import type { Logger } from "../../log.ts";
import type { LinkEnd } from "../../rpc/link.ts";
import type { Peer } from "../../transport/link_source.ts";
import { type HandshakeContext, Responder } from "../noise/handshake.ts";
import { fingerprint, type KeyPair, type PublicKey } from "../noise/keys.ts";
import { NoiseError } from "../noise/noise_error.ts";
import { NoiseLink, PROTOCOL_ERROR_REASON } from "../noise/noise_link.ts";
import { MAX_STREAMS } from "../relay/limits.ts";
import { type RelayBody, RelayFrameEncoder } from "../relay/relay_frame.ts";
import type { RelaySocket } from "../relay/relay_socket.ts";
import { SendWindow } from "../relay/send_window.ts";

/** A harness that has proven its key, and the authorization it has shown. */
export interface Knock {
  readonly harness: PublicKey;
  readonly authorization: string;
  readonly streamId: string;
}

export interface NoiseStreamsOptions {
  readonly socket: RelaySocket;
  readonly identity: KeyPair;
  readonly context: Omit<HandshakeContext, "streamId">;
  /** Whether a harness may come in. If it rejects, the harness is refused. */
  readonly mayEnter: (knock: Knock) => Promise<boolean>;
  /** Serves one link; the promise is the link's life. */
  readonly onLink: (link: NoiseLink, peer: Omit<Peer, "id">) => void;
  readonly log: Logger;
  /** How much of one stream may be under way to its harness, if the rendezvous acknowledges it. Null: no bound. */
  readonly streamWindowBytes: number | null;
  readonly clock: Clock;
  readonly turn?: () => Promise<void>;
}

/** How many handshakes may wait for the registry. The next one is reset. */
const MAX_PENDING_HANDSHAKES = 32;

/**
 * How many bytes may wait for the receivers of all streams together. Beyond that, the stream that holds the most is
 * reset.
 */
const MAX_HELD_BYTES_OF_ALL = 256 * 1024 * 1024;

/** They are counted each time this many bytes have come. */
const BYTES_PER_COUNT = 4 * 1024 * 1024;

/** The handshake, while it is under way: nothing else may come on the stream. `null` once it is a link. */
interface Stream {
  readonly frames: RelayFrameEncoder;
  link: NoiseLink | null;
}

export class NoiseStreams {
  readonly #options: NoiseStreamsOptions;
  readonly #streams = new Map<string, Stream>();
  #pendingHandshakes = 0;
  /** One handshake is read at a time: each takes milliseconds. */
  #reading: Promise<void> = Promise.resolve();
  #uncountedBytes = 0;

  constructor(options: NoiseStreamsOptions) {
    this.#options = options;
  }

  /** Serves until the websocket and all its streams have ended. */
  async run(): Promise<LinkEnd> {
    const end = await this.#options.socket.run((streamId, body) => this.#take(streamId, body));
    for (const { link } of [...this.#streams.values()]) link?.end({ type: "peerClosed" });
    this.#streams.clear();
    return end;
  }

  #take(streamId: string, body: RelayBody): void | Promise<void> {
    const stream = this.#streams.get(streamId);
    switch (body.type) {
      case "handshake":
        if (stream !== undefined || !this.#hasRoom()) return this.#refuse(streamId);
        // Copied, because it waits for its turn.
        return this.#shakeHands(streamId, body.payload.slice());
      case "data":
        if (stream?.link === undefined || stream.link === null) {
          // The handshake is not complete, or the stream is unknown.
          this.#streams.delete(streamId);
          return this.#refuse(streamId);
        }
        this.#count(body.payload.length);
        return stream.link.take(body);
      case "ack":
        return stream?.link?.acknowledge(body.seq);
      case "reset":
        this.#streams.delete(streamId);
        stream?.link?.end({ type: "peerClosed" });
        return;
        // The reference ignores other frames, too.
    }
  }

  #hasRoom(): boolean {
    return this.#streams.size < MAX_STREAMS && this.#pendingHandshakes < MAX_PENDING_HANDSHAKES;
  }

  #shakeHands(streamId: string, message: Uint8Array<ArrayBuffer>): void {
    const stream: Stream = { frames: new RelayFrameEncoder(streamId), link: null };
    this.#streams.set(streamId, stream);
    this.#pendingHandshakes++;
    const reading = this.#reading.then(() => this.#read(streamId, message));
    this.#reading = reading.then(() => this.#options.turn?.(), () => {});
    reading.then((responder) => this.#admit(streamId, stream, responder))
      .catch((error) => this.#reject(streamId, stream, error))
      .finally(() => this.#pendingHandshakes--);
  }

  #read(streamId: string, message: Uint8Array<ArrayBuffer>): Promise<Responder> {
    const { identity, context } = this.#options;
    return Responder.read({ identity, context: { ...context, streamId }, message });
  }

  async #admit(streamId: string, stream: Stream, responder: Responder): Promise<void> {
    const { initiator: harness, authorization } = responder;
    const isCurrent = () => this.#streams.get(streamId) === stream;
    if (!isCurrent()) return;
    if (!await this.#options.mayEnter({ harness, authorization, streamId })) {
      throw new NoiseError("the registry does not know the harness");
    }
    if (!isCurrent()) return;
    const { message, keys } = await responder.answer();
    if (!isCurrent()) return;
    const { socket, turn, streamWindowBytes, clock } = this.#options;
    const link = stream.link = new NoiseLink({
      keys,
      frames: stream.frames,
      carrier: socket,
      window: streamWindowBytes === null ? undefined : new SendWindow({ bytes: streamWindowBytes, clock }),
      onEnd: () => {
        if (isCurrent()) this.#streams.delete(streamId);
      },
      ...(turn === undefined ? {} : { turn }),
    });
    socket.sendSoon(stream.frames.handshake(message));
    this.#options.onLink(link, { remote: `harness ${fingerprint(harness)}`, requestId: streamId });
  }

  #reject(streamId: string, stream: Stream, error: unknown): void {
    const reason = messageOf(error);
    this.#options.log.warn("harness refused", { stream: streamId, reason });
    if (this.#streams.get(streamId) !== stream) return;
    this.#streams.delete(streamId);
    this.#refuse(streamId);
  }

  /** The peer learns nothing more. If a stream of that name is served, it goes on. */
  #refuse(streamId: string): void {
    this.#options.socket.sendSoon(new RelayFrameEncoder(streamId).reset(PROTOCOL_ERROR_REASON));
  }

  #count(bytes: number): void {
    this.#uncountedBytes += bytes;
    if (this.#uncountedBytes < BYTES_PER_COUNT) return;
    this.#uncountedBytes = 0;
    const links = [...this.#streams.values()].flatMap(({ link }) => link ?? []);
    const held = links.reduce((sum, { heldBytes }) => sum + heldBytes, 0);
    if (held <= MAX_HELD_BYTES_OF_ALL) return;
    const largest = links.reduce((most, link) => link.heldBytes > most.heldBytes ? link : most);
    this.#options.log.warn("stream reset: the streams hold too much together", { bytes: held });
    largest.close({ cause: "fault", reason: "stream_queue_full" });
  }
}
