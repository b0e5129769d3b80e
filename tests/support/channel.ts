/** How the client moves messages: whole texts in and out. Only web-standard API, so that it runs in any runtime. */

import { withoutToken } from "../../src/client/link/url_token.ts";

export interface Channel {
  send(text: string): void;
  /** Set before any message can arrive. */
  onMessage: (text: string) => void;
  onClose: (reason: string) => void;
  close(): void;
}

export interface WebSocketChannelOptions {
  /** Sent as `Authorization: Bearer`. Needs a runtime whose WebSocket takes headers (Deno, Node, Bun; not browsers). */
  token?: string | undefined;
  signal?: AbortSignal | undefined;
}

/** Opens a websocket; rejects when the server cannot be reached or refuses. The URL may carry the token, as printed. */
export function openWebSocket(url: string, options: WebSocketChannelOptions = {}): Promise<Channel> {
  const { token, signal } = options;
  signal?.throwIfAborted();
  const socket = token === undefined
    ? new WebSocket(url)
    : new WebSocket(url, { headers: { authorization: `Bearer ${token}` } } as unknown as string[]);
  socket.binaryType = "arraybuffer";
  const channel: Channel = {
    send: (text) => socket.send(text),
    onMessage: () => {},
    onClose: () => {},
    close: () => socket.close(),
  };
  return new Promise((resolve, reject) => {
    const abort = () => {
      reject(signal!.reason);
      socket.close();
    };
    signal?.addEventListener("abort", abort, { once: true });
    let failure = "connection closed";
    socket.onopen = () => {
      signal?.removeEventListener("abort", abort);
      resolve(channel);
    };
    socket.onerror = (event) => {
      const { message } = event as Event & { message?: string };
      if (message) failure = withoutToken(message);
    };
    socket.onclose = ({ code, reason }) => {
      if (reason !== "") failure = `${reason} (close code ${code})`;
      reject(new Error(`cannot connect to ${withoutToken(url)}: ${failure}`));
      channel.onClose(failure);
    };
    socket.onmessage = ({ data }) => {
      channel.onMessage(typeof data === "string" ? data : new TextDecoder().decode(data as ArrayBuffer));
    };
  });
}
