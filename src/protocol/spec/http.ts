/** Texts and examples: requests to web servers. */

import type { MethodTexts, NotificationTexts } from "./text_types.ts";

export const HTTP_TEXTS: MethodTexts<"http/request"> = {
  "http/request": {
    params: {
      method: "`GET`, `POST` …",
      url: "Where to; at most 65536 characters.",
      headers: "Header fields in the order they are sent; none unless given. Names may repeat.",
      bodyBase64: "What to send.",
      timeoutMs: "For everything, from the connection to the end of the body. Null: as long as it takes.",
      redirectPolicy: "`follow` goes where the server leads; `stop` answers the redirection.",
      requestId: "Chosen by the client. It names the stream in `http/request/bodyDelta`.",
      streamResponse: "True: the answer comes with the header fields, and the body in notifications.",
    },
    result: {
      status: "Any status is a success of this request.",
      headers: "As received: in order, with repeats.",
      bodyBase64: "The bytes received, with their content encoding. Empty when the body is streamed.",
    },
    constraints: ["httpMethod", "httpUrl", "httpHeaders", "httpHeaderVariable", "httpStreamId"],
    notes: [
      "Refused connections and time-outs are -32603. A body that is not streamed has at most 32 MiB. When the connection " +
      "to the client ends, so does the request.",
    ],
    example: {
      params: { requestId: "r1", method: "GET", url: "http://127.0.0.1:8000/", streamResponse: true },
      result: { status: 200, headers: [{ name: "content-type", value: "text/plain" }], bodyBase64: "" },
      varies: ["headers"],
    },
  },
};

export const HTTP_NOTIFICATION_TEXTS: NotificationTexts<"http/request/bodyDelta"> = {
  "http/request/bodyDelta": {
    params: {
      requestId: "Of the request.",
      seq: "From 1, without gaps.",
      deltaBase64: "At most 1 MiB of the body.",
      done: "True on the last one, which has no bytes.",
      error: "Why the body ended early; only on the last one.",
    },
    example: { params: { requestId: "r1", seq: 1, deltaBase64: "aGVsbG8K", done: false, error: null } },
  },
};
