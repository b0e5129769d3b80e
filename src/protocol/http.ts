/** `http/request` and its body notifications: shapes only. Unknown fields are ignored, since other versions exist. */

import * as z from "zod";
import { Base64Bytes, oneOf, UnsignedInt } from "./primitives.ts";

/** Longest `requestId`. Ids of open streams are remembered, so their size must have an end. */
export const MAX_HTTP_REQUEST_ID_LENGTH = 1024;

const HttpHeaderParam = z.object({
  name: z.string(),
  value: z.string(),
  /** A variable of the server's environment; its value is put behind `value`, so that a secret need not travel. */
  valueEnvVar: z.string().nullish().transform((name): string | null => name ?? null),
});
export type HttpHeaderParam = z.output<typeof HttpHeaderParam>;

export const HttpRequestParams = z.object({
  /** Unique among the connection's open streams; it names the stream in `http/request/bodyDelta`. */
  requestId: z.string().max(
    MAX_HTTP_REQUEST_ID_LENGTH,
    `requestId must not be longer than ${MAX_HTTP_REQUEST_ID_LENGTH} characters`,
  ),
  method: z.string(),
  url: z.string(),
  /** In the order they are sent; names may repeat. */
  headers: z.array(HttpHeaderParam).default([]),
  bodyBase64: Base64Bytes.nullish(),
  /** For everything, from the connection to the end of the body. */
  timeoutMs: UnsignedInt.nullish(),
  redirectPolicy: oneOf(["follow", "stop"]).default("follow"),
  /** The body comes in notifications instead of in the result. */
  streamResponse: z.boolean().default(false),
}).transform(({ bodyBase64, timeoutMs, ...params }) => ({
  ...params,
  body: bodyBase64 ?? null,
  timeoutMs: timeoutMs ?? null,
}));
export type HttpRequestParams = z.output<typeof HttpRequestParams>;

export interface HttpHeaderField {
  /** Lower case. */
  name: string;
  value: string;
}

export interface HttpRequestResult {
  status: number;
  /** As received: in order, with repeats. */
  headers: HttpHeaderField[];
  /** Empty when the body is streamed. Exactly the bytes received: content encodings are left alone. */
  bodyBase64: string;
}

export interface HttpBodyDeltaNotification {
  requestId: string;
  /** From 1, without gaps. */
  seq: number;
  deltaBase64: string;
  /** True on the last one, which has no bytes. */
  done: boolean;
  /** Why the body ended early; only on the last one. */
  error: string | null;
}
