/** What `http/request` takes. Unknown fields are ignored, since other versions exist. */

import * as z from "zod/mini";
import { unconfinable } from "./confinable.ts";
import { convert } from "./convert.ts";
import { Base64Bytes, oneOf, UnsignedInt } from "./primitives.ts";

export type * from "./http_results.ts";

/** Longest `requestId`. Ids of open streams are remembered, so their size must have an end. */
export const MAX_HTTP_REQUEST_ID_LENGTH = 1024;

export const HttpHeaderParam = z.object({
  name: z.string(),
  value: z.string(),
  /** A variable of the server's environment; its value is put behind `value`, so that a secret need not travel. */
  valueEnvVar: convert(z.nullish(z.string()), (name): string | null => name ?? null),
});
export type HttpHeaderParam = z.output<typeof HttpHeaderParam>;

/** In the reference's order: of several members that are missing, the first is named. */
export const HttpRequestParams = unconfinable(
  convert(
    z.object({
      method: z.string(),
      url: z.string(),
      /** In the order they are sent; names may repeat. */
      headers: z._default(z.array(HttpHeaderParam), []),
      bodyBase64: z.nullish(Base64Bytes),
      /** For everything, from the connection to the end of the body. */
      timeoutMs: z.nullish(UnsignedInt),
      redirectPolicy: z._default(oneOf(["follow", "stop"]), "follow"),
      /** Unique among the connection's open streams; it names the stream in `http/request/bodyDelta`. */
      requestId: z.string().check(z.maxLength(
        MAX_HTTP_REQUEST_ID_LENGTH,
        `requestId must not be longer than ${MAX_HTTP_REQUEST_ID_LENGTH} characters`,
      )),
      /** The body comes in notifications instead of in the result. */
      streamResponse: z._default(z.boolean(), false),
    }),
    ({ bodyBase64, timeoutMs, ...params }) => ({
      ...params,
      body: bodyBase64 ?? null,
      timeoutMs: timeoutMs ?? null,
    }),
  ),
  "http/request is not confined",
);
export type HttpRequestParams = z.output<typeof HttpRequestParams>;
