/** The other end of an executor's relay websocket, in memory: harnesses that keep the rules, and whatever a test sends. */

import assert from "node:assert/strict";
import { type Clock, systemClock } from "../../../src/clock.ts";
import { silentLogger } from "../../../src/log.ts";
import { NoiseStreams } from "../../../src/remote/executor/noise_streams.ts";
import { Initiator } from "../../../src/remote/noise/handshake.ts";
import { generateKeyPair } from "../../../src/remote/noise/keys.ts";
import { NoiseLink } from "../../../src/remote/noise/noise_link.ts";
import { type RelayBody, RelayFrameEncoder } from "../../../src/remote/relay/relay_frame.ts";
import { RelaySocket } from "../../../src/remote/relay/relay_socket.ts";
import { MemorySocket } from "../../support/memory_socket.ts";

const IDENTITY = generateKeyPair();
const HARNESS = generateKeyPair();
const CONTEXT = { environmentId: "e", executorRegistrationId: "r" };

/** What comes back, by stream. */
export class MemoryRelay {
  readonly raw: MemorySocket;
  readonly socket: RelaySocket;
  readonly links = new Map<string, NoiseLink>();
  readonly served: NoiseLink[] = [];
  readonly dataFrames: { streamId: string; seq: number; bytes: number }[] = [];
  readonly #frames: { streamId: string; body: RelayBody }[] = [];
  #wake = Promise.withResolvers<void>();
  readonly running: Promise<unknown>;

  constructor(
    mayEnter: () => Promise<boolean> = () => Promise.resolve(true),
    streamWindowBytes: number | null = null,
    clock: Clock = systemClock,
  ) {
    const [near, far] = MemorySocket.pair();
    this.raw = near;
    this.socket = new RelaySocket(near);
    const streams = new NoiseStreams({
      socket: new RelaySocket(far),
      identity: IDENTITY,
      context: CONTEXT,
      mayEnter,
      onLink: (link) => this.served.push(link),
      log: silentLogger(),
      streamWindowBytes,
      clock,
    });
    this.running = Promise.all([
      streams.run(),
      this.socket.run((streamId, body) => {
        const link = this.links.get(streamId);
        if (body.type === "data") {
          this.dataFrames.push({ streamId, seq: body.seq, bytes: body.payload.length });
          link?.take(body);
        } else {this.#frames.push({
            streamId,
            body: "payload" in body ? { ...body, payload: body.payload.slice() } : body,
          });}
        this.#wake.resolve();
        this.#wake = Promise.withResolvers();
      }),
    ]);
  }

  async next(streamId: string): Promise<RelayBody> {
    for (;;) {
      const at = this.#frames.findIndex((frame) => frame.streamId === streamId);
      if (at >= 0) return this.#frames.splice(at, 1)[0]!.body;
      await this.#wake.promise;
    }
  }

  /** Resolves once this holds; looked at whenever something has come. */
  async until(holds: () => boolean): Promise<void> {
    while (!holds()) await this.#wake.promise;
  }

  async knock(streamId: string): Promise<Initiator> {
    const context = { ...CONTEXT, streamId };
    const initiator = await Initiator.start({
      identity: HARNESS,
      responder: IDENTITY.publicKey,
      context,
      authorization: "a",
    });
    const frames = new RelayFrameEncoder(streamId);
    await this.socket.send([frames.resume(), frames.handshake(initiator.message)]);
    return initiator;
  }

  async open(streamId: string): Promise<NoiseLink> {
    const initiator = await this.knock(streamId);
    const body = await this.next(streamId);
    assert.ok(body.type === "handshake", JSON.stringify(body));
    const link = new NoiseLink({
      keys: await initiator.finish(body.payload),
      frames: new RelayFrameEncoder(streamId),
      carrier: this.socket,
      onEnd: () => {},
    });
    this.links.set(streamId, link);
    return link;
  }

  async end(): Promise<void> {
    this.raw.close();
    await this.running;
  }
}

export async function firstMessage(link: NoiseLink): Promise<string | null> {
  const received = Promise.withResolvers<string | null>();
  link.receive((message) => received.resolve(message));
  return await received.promise;
}
