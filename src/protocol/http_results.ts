/** What `http/request` answers, and the body it tells in parts. The server uses the types alone. */

import * as z from "zod/mini";

export const HttpHeaderField = z.object({
  /** Lower case. */
  name: z.string(),
  value: z.string(),
});
export type HttpHeaderField = z.output<typeof HttpHeaderField>;

export const HttpRequestResult = z.object({
  status: z.int(),
  /** As received: in order, with repeats. */
  headers: z.array(HttpHeaderField),
  /** Empty when the body is streamed. Exactly the bytes received: content encodings are left alone. */
  bodyBase64: z.string(),
});
export type HttpRequestResult = z.output<typeof HttpRequestResult>;

export const HttpBodyDeltaNotification = z.object({
  requestId: z.string(),
  /** From 1, without gaps. */
  seq: z.int(),
  deltaBase64: z.string(),
  /** True on the last one, which has no bytes. */
  done: z.boolean(),
  /** Why the body ended early; only on the last one. */
  error: z.nullable(z.string()),
});
export type HttpBodyDeltaNotification = z.output<typeof HttpBodyDeltaNotification>;
