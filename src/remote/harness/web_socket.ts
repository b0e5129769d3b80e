/**
 * The runtime's own websocket as one of raw messages. It has no back-pressure, which matters little for the requests of
 * clients.
 */

import type { Bytes } from "../../bytes.ts";
import type { LinkEnd } from "../../rpc/link.ts";
import type { RawSocket } from "../relay/relay_socket.ts";

/** The part of `WebSocket` that is used, so that packages with the same interface will do. */
export type SocketLike = Pick<
  WebSocket,
  "binaryType" | "onmessage" | "onclose" | "onopen" | "addEventListener" | "readyState" | "send" | "close"
>;

const OPEN = 1;

export interface SocketOptions {
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
  readonly WebSocket?: (new (url: string) => SocketLike) | undefined;
}

/** Rejects if it cannot be opened. The URL is a credential: no message contains it. */
export async function openSocket(url: string, options: SocketOptions): Promise<RawSocket> {
  const { timeoutMs, signal } = options;
  signal?.throwIfAborted();
  const socket = new (options.WebSocket ?? WebSocket)(url);
  socket.binaryType = "arraybuffer";
  const early: (Bytes | string)[] = [];
  let onMessage = (data: Bytes | string): void => void early.push(data);
  const ended = Promise.withResolvers<LinkEnd>();
  socket.onmessage = ({ data }) => onMessage(typeof data === "string" ? data : new Uint8Array(data as ArrayBuffer));
  socket.onclose = () => ended.resolve({ type: "peerClosed" });
  await new Promise<void>((resolve, reject) => {
    const fail = (why: string) => {
      reject(new Error(`cannot connect to the rendezvous: ${why}`));
      socket.close();
    };
    const timer = setTimeout(() => fail(`no answer within ${timeoutMs} ms`), timeoutMs);
    const abort = () => fail("given up");
    signal?.addEventListener("abort", abort);
    const settle = (done: () => void) => () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
      done();
    };
    socket.onopen = settle(resolve);
    socket.addEventListener("error", settle(() => fail("the websocket was refused")));
  });
  return {
    async receive(receiver) {
      let busy: Promise<void> = Promise.resolve();
      onMessage = (data) => {
        const message = typeof data === "string"
          ? { isText: true, bytes: new TextEncoder().encode(data) }
          : { isText: false, bytes: data };
        // One after another, even if the receiver takes its time.
        busy = busy.then(() => receiver(message));
      };
      early.splice(0).forEach(onMessage);
      const end = await ended.promise;
      await busy;
      return end;
    },
    send(messages) {
      if (socket.readyState !== OPEN) return Promise.reject(new Error("connection is closed"));
      for (const { bytes } of messages) socket.send(bytes);
      return Promise.resolve();
    },
    probe: () => {},
    close: () => socket.close(),
  };
}
