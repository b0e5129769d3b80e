/**
 * How our own programs reach a rendezvous: with our own sockets, because the runtime's `fetch` and `WebSocket` ignore
 * the proxy and the authorities of the environment (`HTTPS_PROXY`, `NO_PROXY`, `SSL_CERT_FILE`). Has back-pressure in
 * both directions.
 */

import { systemClock } from "../../clock.ts";
import { Dialer } from "../../http/dialer.ts";
import { MessageSocket } from "../../transport/websocket/message_socket.ts";
import type { HarnessNetwork } from "../harness/harness.ts";
import { getList, postJson, type TextAnswer } from "../registry/post_json.ts";
import { MAX_RELAY_MESSAGE_BYTES } from "../relay/limits.ts";
import { dialWebSocket } from "./dial_websocket.ts";

/** Shorter than the time (about half a minute) after which NATs and proxies drop an idle connection. */
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
