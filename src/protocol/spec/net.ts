/** Texts and examples: tunnels. */

import type { MethodTexts, NotificationTexts } from "./text_types.ts";

const T1 = { tunnelId: "t1" };
const ID = "The tunnel.";

export const NET_TEXTS: MethodTexts<"net/connect" | "net/write" | "net/ack" | "net/closeWrite" | "net/close"> = {
  "net/connect": {
    params: {
      tunnelId: "Chosen by the client; unique among the open tunnels of the connection.",
      port: "Where to connect to.",
      host: "`localhost` (default: 127.0.0.1, or else ::1), or a loopback address.",
    },
    result: {},
    constraints: ["loopbackHost"],
    notes: [
      "Only where the server was started with `--allow-tunnel`. Answered when the connection is there. A tunnel belongs " +
      "to the connection it was asked for on, and ends with it.",
    ],
    example: { params: { ...T1, port: 8000 }, result: {} },
  },
  "net/write": {
    params: { tunnelId: ID, chunk: "The bytes, in base64." },
    result: {},
    notes: [
      "Answered when the system has taken the bytes. Send the next write after the answer: so a reader that is slow " +
      "slows down its own tunnel, and nothing else.",
    ],
    example: { params: { ...T1, chunk: "R0VUIC8gSFRUUC8xLjANCg0K" }, result: {} },
  },
  "net/ack": {
    params: {
      tunnelId: ID,
      bytes: "How many bytes of `net/data` the client is done with, since the tunnel was opened.",
    },
    result: {},
    constraints: ["tunnelBytes"],
    notes: [
      "256 KiB may be unacknowledged; then nothing more is read from the other end. A tunnel that is not open is no " +
      "error.",
    ],
    example: { params: { ...T1, bytes: 0 }, result: {} },
  },
  "net/closeWrite": {
    params: { tunnelId: ID },
    result: {},
    notes: ["The other end sees the end of what is sent, and may go on sending."],
    example: { params: T1, result: {} },
  },
  "net/close": {
    params: { tunnelId: ID },
    result: {},
    notes: ["No more notifications about it follow. A tunnel that is not open is no error."],
    example: {
      before: [{ method: "net/connect", params: { tunnelId: "t2", port: 8000 } }],
      params: { tunnelId: "t2" },
      result: {},
    },
  },
};

export const NET_NOTIFICATION_TEXTS: NotificationTexts<"net/data" | "net/ended" | "net/closed"> = {
  "net/data": {
    params: { tunnelId: ID, chunk: "The bytes, in base64." },
    example: { params: { ...T1, chunk: "SFRUUC8xLjEgMjAwIE9LDQo=" }, varies: ["chunk"] },
  },
  "net/ended": { params: { tunnelId: ID }, example: { params: T1 } },
  "net/closed": {
    params: { tunnelId: ID, error: "Why it failed, in the system's words. Null: both ends have ended it." },
    notes: ["Once for each tunnel that was not closed by `net/close`. Its id is free."],
    example: { params: { ...T1, error: null } },
  },
};
