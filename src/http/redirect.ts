/**
 * Which request follows a redirect: a pure function of the request and the response, by the reference's rules. One rule
 * is stricter: a header with a value from the server's environment goes only to the origin it was meant for, whatever
 * its name.
 */

import { internalError } from "../errors.ts";
import type { HttpHeader, OutgoingRequest } from "./outgoing_request.ts";

export interface RedirectResponse {
  readonly status: number;
  readonly headers: readonly HttpHeader[];
}

/** They describe the body, which is no longer sent. */
const BODY_HEADERS: ReadonlySet<string> = new Set(["content-type", "content-encoding"]);

/** They are meant for one server: another one must not see them, nor be addressed by the first one's name. */
const PRIVATE_HEADERS: ReadonlySet<string> = new Set([
  "authorization",
  "cookie",
  "cookie2",
  "proxy-authorization",
  "www-authenticate",
  "host",
]);

/** Null: the response is the answer. */
export function redirected(request: OutgoingRequest, response: RedirectResponse): OutgoingRequest | null {
  if (![301, 302, 303, 307, 308].includes(response.status)) return null;
  const location = response.headers.find(({ name }) => name === "location")?.value;
  const url = location === undefined ? null : URL.parse(location, request.url.href);
  if (url === null) return null; // Nowhere to go: the caller gets to see it.
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    const scheme = url.protocol.slice(0, -1);
    throw internalError(`http/request failed: redirect target uses unsupported URL scheme: ${scheme}`);
  }
  url.hash = "";
  url.username = "";
  url.password = "";

  const { method, dropsBody } = nextMethod(request.method, response.status);
  const isElsewhere = url.origin !== request.url.origin;
  const headers = request.headers.filter(({ name, isSecret = false }) => {
    if (name === "referer") return false;
    return !(dropsBody && BODY_HEADERS.has(name)) && !(isElsewhere && (isSecret || PRIVATE_HEADERS.has(name)));
  });
  const referer = refererFor(request.url, url);
  if (referer !== null) headers.push({ name: "referer", value: referer });
  return { method, url, headers, body: dropsBody ? null : request.body };
}

function nextMethod(method: string, status: number): { method: string; dropsBody: boolean } {
  const becomesGet = status === 303 ? method !== "HEAD" : (status === 301 || status === 302) && method === "POST";
  return becomesGet ? { method: "GET", dropsBody: true } : { method, dropsBody: status === 303 };
}

/** Another origin learns only where the request came from, and nothing once the connection is no longer secure. */
function refererFor(from: URL, to: URL): string | null {
  if (from.protocol === "https:" && to.protocol === "http:") return null;
  return from.origin === to.origin ? from.href : `${from.origin}/`;
}
