/**
 * The way of our own programs to a rendezvous: sockets of our own, through the environment's proxy and with its
 * authorities (`HTTPS_PROXY`, `NO_PROXY`, `SSL_CERT_FILE`), which the runtime's `fetch` and `WebSocket` pass over. Waits for
 * the peer in both directions.
 */

import { systemClock } from "../../clock.ts";
import { Dialer } from "../../http/dialer.ts";
import { MessageSocket } from "../../transport/websocket/message_socket.ts";
import type { HarnessNetwork } from "../harness/harness.ts";
import { getList, postJson, type TextAnswer } from "../registry/post_json.ts";
import { MAX_RELAY_MESSAGE_BYTES } from "../relay/limits.ts";
import { dialWebSocket } from "./dial_websocket.ts";

/** Below the half minute or so after which NATs and proxies forget a connection on which nothing moves. */
const PING_INTERVAL_MS = 15_000;
/** Three pings without a byte, as on the other side. */
const MAX_SILENT_PINGS = 3;

export function harnessNetwork(env: Readonly<Record<string, string | undefined>>): HarnessNetwork {
  const dialer = dialerOf(env);
  const clock = systemClock;
  return {
    post: (url, body, { signal = new AbortController().signal, ...options }) =>
      postJson(body, { url, dialer, clock, signal, ...options }),
    async open(url, { timeoutMs, signal }) {
      const options = { dialer, clock, timeoutMs, ...(signal === undefined ? {} : { signal }) };
      const { stream, initialBytes } = await dialWebSocket(url, options);
      return new MessageSocket(stream, {
        clock,
        role: "client",
        pingIntervalMs: PING_INTERVAL_MS,
        maxSilentPings: MAX_SILENT_PINGS,
        maxFrameBytes: MAX_RELAY_MESSAGE_BYTES,
        maxMessageBytes: MAX_RELAY_MESSAGE_BYTES,
        initialBytes,
      });
    },
  };
}

/** Asks a rendezvous for its list of executors. */
export function askForExecutors(
  url: URL,
  { token, timeoutMs, env }: { token: string; timeoutMs: number; env: Readonly<Record<string, string | undefined>> },
): Promise<TextAnswer> {
  const headers = { authorization: `Bearer ${token}` };
  const { signal } = new AbortController();
  return getList({ url, headers, dialer: dialerOf(env), clock: systemClock, timeoutMs, signal });
}

function dialerOf(env: Readonly<Record<string, string | undefined>>): Dialer {
  const given = Object.entries(env).flatMap(([name, value]) => value === undefined ? [] : [[name, value]]);
  return new Dialer(Object.fromEntries(given), "the rendezvous");
}
