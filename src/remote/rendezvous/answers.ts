/** The registry's HTTP answers: small, in JSON, and without any secret that the peer has sent. */

import { type HttpResponse, httpResponse, type HttpStatus } from "../../transport/door/http_response.ts";

const JSON_TYPE = { "content-type": "application/json", "cache-control": "no-store" } as const;

export function jsonAnswer(value: unknown): HttpResponse {
  return httpResponse(200, `${JSON.stringify(value)}\n`, JSON_TYPE);
}

/** A refusal, in the form that the reference's programs show to people. */
export function problem(
  status: HttpStatus,
  code: string,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): HttpResponse {
  const body = `${JSON.stringify({ error: { code, message } })}\n`;
  return { ...httpResponse(status, body, { ...JSON_TYPE, ...headers }), reason: message };
}
