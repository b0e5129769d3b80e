/**
 * Passes links on to another server. Each link has its own websocket to the destination. Messages are passed on whole,
 * without parsing.
 *
 * When one side ends, the other is ended. Messages are sent as text, which every JSON-RPC server accepts (the reference
 * sends them as binary). Each direction waits until the other side has read what was sent.
 */

import type { Clock } from "../../clock.ts";
import { messageOf } from "../../errors.ts";
import { Dialer } from "../../http/dialer.ts";
import type { Logger } from "../../log.ts";
import type { InboundMessage, Link } from "../../rpc/link.ts";
import type { Peer } from "../../transport/link_source.ts";
import { WebSocketLink } from "../../transport/websocket/websocket_link.ts";
import { dialWebSocket } from "../dial/dial_websocket.ts";
import { MAX_CHANNEL_MESSAGE_BYTES } from "../noise/limits.ts";
import { isThisMachine } from "../registry/registry_url.ts";

export interface ForwarderOptions {
  /** `ws://`, `wss://` or `unix:/PATH`; path and query are kept. */
  readonly destination: string;
  readonly env: Readonly<Record<string, string>>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly pingIntervalMs: number;
}

const DIAL_TIMEOUT_MS = 10_000;

export class Forwarder {
  readonly #options: ForwarderOptions;
  readonly #dialer: Dialer;
  #open = 0;

  constructor(options: ForwarderOptions) {
    this.#options = options;
    const host = URL.parse(options.destination)?.hostname ?? "";
    // Addresses of this machine are not reached through a proxy.
    const { env } = options;
    const direct = { NO_PROXY: "*", ...pick(env, ["CODEX_CA_CERTIFICATE", "SSL_CERT_FILE"]) };
    this.#dialer = new Dialer(isThisMachine(host) ? direct : env, "forward");
  }

  /** How many links are passed on. */
  get open(): number {
    return this.#open;
  }

  /** Passes a link on until either side ends. */
  async serve(link: Link, peer: Peer): Promise<void> {
    const log = this.#options.log.with({ connection: peer.id });
    this.#open++;
    try {
      const far = await this.#dial();
      log.info("forwarded", { remote: peer.remote, requestId: peer.requestId ?? undefined });
      await join(link, far);
      log.info("disconnected");
    } catch (error) {
      log.warn("cannot forward", { reason: messageOf(error) });
      link.close({ cause: "fault", reason: "forward_destination_unreachable" });
    } finally {
      this.#open--;
    }
  }

  async #dial(): Promise<WebSocketLink> {
    const { destination, clock, pingIntervalMs } = this.#options;
    const { stream, initialBytes } = await dialWebSocket(destination, {
      dialer: this.#dialer,
      clock,
      timeoutMs: DIAL_TIMEOUT_MS,
    });
    return new WebSocketLink(stream, {
      clock,
      role: "client",
      pingIntervalMs,
      initialBytes,
      maxFrameBytes: MAX_CHANNEL_MESSAGE_BYTES,
      maxMessageBytes: MAX_CHANNEL_MESSAGE_BYTES,
    });
  }
}

async function join(near: Link, far: Link): Promise<void> {
  const passTo = (other: Link) => (message: InboundMessage): Promise<void> | void => {
    // Bytes that are not UTF-8 are not JSON. An empty text has the same error as its answer.
    return other.send([message ?? ""]).catch(() => other.close());
  };
  const passing = [
    near.receive(passTo(far)).finally(() => far.close({ cause: "done", reason: "" })),
    far.receive(passTo(near)).finally(() => near.close({ cause: "done", reason: "forward_destination_closed" })),
  ];
  await Promise.all(passing);
}

function pick(env: Readonly<Record<string, string>>, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.flatMap((name) => env[name] === undefined ? [] : [[name, env[name]]]));
}
