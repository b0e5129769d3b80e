/**
 * What is different about a client in a web page: it cannot send headers of its own, and it says where it comes from.
 *
 * A page names its origin in every websocket handshake. Those of origins that the operator has named may connect; their
 * token comes in a subprotocol, since a page has no other place for it. The server selects the protocol itself and never
 * the one with the token, so no answer and no log holds it. Judging the token is left to the authenticator.
 */

import { listEntries, type RequestHead } from "./http_head.ts";

/** The subprotocol that is selected whenever a client offers it. */
const SUBPROTOCOL = "exec-server.v1";

/** Followed by the token as unpadded base64url: what a subprotocol may hold, whatever the token is. */
const BEARER_SUBPROTOCOL = "exec-server.bearer.";

/** How long a browser may remember what it was told about `/session-check`, in seconds. */
const PREFLIGHT_MAX_AGE_SECONDS = 600;

/** The origin of a request that may come from there. Null: it has none, or another. */
export function allowedOrigin(head: RequestHead, allowedOrigins: readonly string[]): string | null {
  const [origin, ...more] = head.headers.get("origin") ?? [];
  return origin !== undefined && more.length === 0 && allowedOrigins.includes(origin) ? origin : null;
}

/** What lets a page of this origin read an answer. */
export function crossOriginHeaders(origin: string): Record<string, string> {
  return { "access-control-allow-origin": origin, vary: "Origin" };
}

/** The answer to the question a browser asks before it sends a token to another origin. */
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
 * The tokens among the offered subprotocols, each as the value of an `Authorization` header; an empty one for what is no
 * token. More than one contradict each other.
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
    // Neither base64 nor UTF-8: whatever is wrong with it, it is not a token.
    return null;
  }
}
