/**
 * The noise form: one websocket for all clients. Each client has its own stream, encrypted from end to end.
 *
 * A websocket that the rendezvous has ended is dialled again at the same URL. If that fails, the next attempt registers
 * again: the rendezvous may have moved, or forgotten us. The rendezvous may still take a lost websocket for open, and
 * its URL for used. A new registration shows a token, and so replaces it at once.
 */

import type { LinkEnd } from "../../rpc/link.ts";
import { MessageSocket } from "../../transport/websocket/message_socket.ts";
import { VERSION } from "../../version.ts";
import { type DialedWebSocket, UpgradeRefused } from "../dial/dial_websocket.ts";
import { fingerprint, type KeyPair } from "../noise/keys.ts";
import { MAX_RELAY_MESSAGE_BYTES } from "../relay/limits.ts";
import { RelaySocket } from "../relay/relay_socket.ts";
import type { Registration } from "../registry/registry_client.ts";
import { originOf } from "../registry/registry_url.ts";
import { type Knock, NoiseStreams } from "./noise_streams.ts";
import { RemoteSource, type RemoteSourceOptions } from "./remote_source.ts";

export interface NoiseSourceOptions extends RemoteSourceOptions {
  readonly identity: KeyPair;
  /** For lists that people read. */
  readonly name?: string;
}

export class NoiseSource extends RemoteSource {
  readonly #identity: KeyPair;
  readonly #name: string | undefined;
  readonly #backoff = this.newBackoff();
  #socket: RelaySocket | null = null;

  constructor(options: NoiseSourceOptions) {
    super("environment", options);
    this.#identity = options.identity;
    this.#name = options.name;
  }

  protected override async serveAll(): Promise<void> {
    const { signal } = this.closing;
    let registration: Registration | null = null;
    while (!signal.aborted) {
      const isKnownUrl: boolean = registration !== null;
      try {
        registration ??= await this.#register();
        const dialed: DialedWebSocket = await this.dial(registration.url, [requestId()]);
        const end: LinkEnd = await this.#serveSocket(dialed, registration);
        if (end.type !== "peerClosed") registration = null;
        if (!signal.aborted) this.states.lost(describe(end));
      } catch (error) {
        registration = null;
        // The URL has expired, which is not a failure.
        if (isKnownUrl && error instanceof UpgradeRefused && error.status < 500) continue;
        this.noteFailure(error);
      }
      await this.pause(this.#backoff);
    }
  }

  protected override dropSockets(): void {
    this.#socket?.close({ cause: "done", reason: "the server is shutting down" });
  }

  #register(): Promise<Registration> {
    const about = { name: this.#name, version: VERSION };
    return this.registry.registerNoise(this.#identity.publicKey, about, this.closing.signal);
  }

  async #serveSocket({ stream, initialBytes }: DialedWebSocket, registration: Registration): Promise<LinkEnd> {
    const { registrationId, url } = registration;
    const options = this.socketOptions(initialBytes);
    const socket = this.#socket = new RelaySocket(
      new MessageSocket(stream, {
        ...options,
        maxFrameBytes: MAX_RELAY_MESSAGE_BYTES,
        maxMessageBytes: MAX_RELAY_MESSAGE_BYTES,
      }),
    );
    this.states.connected({
      rendezvous: originOf(url),
      environment: this.id,
      registration: registrationId,
      identity: fingerprint(this.#identity.publicKey),
    });
    const cancel = this.countSuccess(this.#backoff);
    const streams = new NoiseStreams({
      socket,
      identity: this.#identity,
      context: { environmentId: this.id, executorRegistrationId: registrationId },
      mayEnter: (knock) => this.#validate(registrationId, knock),
      onLink: (link, peer) => {
        this.#backoff.reset();
        this.serve(link, peer);
      },
      log: this.log,
      streamWindowBytes: registration.streamWindowBytes,
      clock: this.clock,
      ...(options.turn === undefined ? {} : { turn: options.turn }),
    });
    try {
      return await streams.run();
    } finally {
      cancel();
      this.#socket = null;
    }
  }

  #validate(registrationId: string, knock: Knock): Promise<boolean> {
    return this.registry.validate({ registrationId, ...knock }, this.closing.signal);
  }
}

/** Logged, so that two logs can be compared. */
function requestId(): { name: string; value: string } {
  return { name: "x-request-id", value: `req_${crypto.randomUUID().replaceAll("-", "")}` };
}

function describe(end: LinkEnd): string {
  switch (end.type) {
    case "peerClosed":
      return "it ended the connection";
    case "closedByUs":
      return "we ended the connection";
    case "silent":
      return `nothing came for ${end.silentMs} ms`;
    default:
      return end.reason;
  }
}
