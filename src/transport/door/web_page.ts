/**
 * The rules for clients in web pages. They cannot send their own headers, and they say where they come from.
 *
 * A page names its origin in every websocket handshake. Pages of origins that the operator has named may connect. Their
 * token comes in a subprotocol, since a page has no other place for it. The server never selects the protocol with the
 * token, so no answer and no log holds it. The authenticator judges the token.
 */

import { listEntries, type RequestHead } from "./http_head.ts";

/** The subprotocol that is selected if a client offers it. */
const SUBPROTOCOL = "exec-server.v1";

/** Followed by the token as unpadded base64url, so that any token fits into a subprotocol. */
const BEARER_SUBPROTOCOL = "exec-server.bearer.";

/** How long a browser may remember the answer about `/session-check`, in seconds. */
const PREFLIGHT_MAX_AGE_SECONDS = 600;

/** The request's origin, if it may connect. Null: it has none, or another one. */
export function allowedOrigin(head: RequestHead, allowedOrigins: readonly string[]): string | null {
  const [origin, ...more] = head.headers.get("origin") ?? [];
  return origin !== undefined && more.length === 0 && allowedOrigins.includes(origin) ? origin : null;
}

/** The headers that let a page of this origin read an answer. */
export function crossOriginHeaders(origin: string): Record<string, string> {
  return { "access-control-allow-origin": origin, vary: "Origin" };
}

/** The headers of the answer to a browser that asks before it sends a token to another origin. */
export function preflightHeaders(head: RequestHead, origin: string): Record<string, string> {
  const asksForPrivateNetwork = head.headers.get("access-control-request-private-network")?.[0] === "true";
  return {
    ...crossOriginHeaders(origin),
    "access-control-allow-methods": "GET",
    "access-control-allow-headers": "authorization",
    "access-control-max-age": String(PREFLIGHT_MAX_AGE_SECONDS),
    ...(asksForPrivateNetwork ? { "access-control-allow-private-network": "true" } : {}),
  };
}

/** The subprotocol to select. Null: ours was not offered. */
export function selectedSubprotocol(head: RequestHead): string | null {
  return listEntries(head, "sec-websocket-protocol").includes(SUBPROTOCOL) ? SUBPROTOCOL : null;
}

/**
 * The tokens among the offered subprotocols, each as the value of an `Authorization` header. It is empty if it cannot
 * be decoded. More than one contradict each other.
 */
export function subprotocolCredentials(head: RequestHead): string[] {
  return listEntries(head, "sec-websocket-protocol")
    .filter((offered) => offered.startsWith(BEARER_SUBPROTOCOL))
    .map((offered) => {
      const token = decodeToken(offered.slice(BEARER_SUBPROTOCOL.length));
      return token === null ? "" : `Bearer ${token}`;
    });
}

function decodeToken(text: string): string | null {
  if (!/^[\w-]+$/.test(text)) return null;
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(Uint8Array.fromBase64(text, { alphabet: "base64url" }));
  } catch {
    // Not base64 or not UTF-8, so it is not a token.
    return null;
  }
}
