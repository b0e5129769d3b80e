/**
 * What one HTTP request is answered: a health probe, a refusal, or the upgrade to a websocket.
 *
 * A pure decision in the reference server's order: Origin, Host (ours), route, method, upgrade headers, auth. Statuses
 * and bodies are the reference's too, since clients show them. Reading the request, writing the answer and the
 * websocket itself are left to the listener.
 */

import { AUTH_REFUSAL, type Authenticator } from "./auth.ts";
import { announcesBody, listEntries, type MalformedHead, type RequestHead } from "./http_head.ts";
import { type HttpResponse, httpResponse } from "./http_response.ts";
import { parseIpAddress } from "./ip_address.ts";

export interface UpgradeContext {
  /** Null lets everybody in. */
  readonly authenticator: Authenticator | null;
  /** Whether the listener is on a TCP loopback address, where a browser on this machine could be led to it. */
  readonly isLoopbackListener: boolean;
}

export interface AcceptedUpgrade {
  readonly type: "upgrade";
  /** The value of `Sec-WebSocket-Accept`. */
  readonly accept: string;
  /** The peer's `x-request-id`, to be echoed in the 101. */
  readonly requestId: string | null;
}

const HEALTH_PATHS: readonly string[] = ["/readyz", "/healthz"];
const WEBSOCKET_PATH = "/";
const WEBSOCKET_VERSION = "13";
/** Fixed by RFC 6455, section 1.3. */
const WEBSOCKET_GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/** Bodies of refusals. The first five are the reference's texts; its server has no case for the others. */
export const UPGRADE_REFUSAL = {
  method: "Request method must be `GET`",
  connection: "Connection header did not include 'upgrade'",
  upgrade: "`Upgrade` header did not include 'websocket'",
  version: "`Sec-WebSocket-Version` header did not include '13'",
  key: "`Sec-WebSocket-Key` header missing",
  repeatedKey: "`Sec-WebSocket-Key` header given more than once",
  body: "a request body is not accepted",
  httpVersion: "a websocket needs HTTP/1.1",
  host: "Host must be an IP address or localhost: this server is not reached by other names without authentication",
} as const;

/** The answer to one request. Rejects only if the authenticator does. */
export async function decideUpgrade(
  head: RequestHead,
  context: UpgradeContext,
): Promise<HttpResponse | AcceptedUpgrade> {
  const refused = refuseBrowser(head, context);
  if (refused !== null) return withholdBody(head, refused);
  if (HEALTH_PATHS.includes(head.path)) return answerHealth(head);
  if (head.path !== WEBSOCKET_PATH) return httpResponse(404);

  const malformed = refuseHandshake(head);
  if (malformed !== null) return withholdBody(head, malformed);
  const unauthorized = await refuseStranger(head, context.authenticator);
  if (unauthorized !== null) return unauthorized;

  const [key = ""] = head.headers.get("sec-websocket-key") ?? [];
  const [requestId = null] = head.headers.get("x-request-id") ?? [];
  return { type: "upgrade", accept: await websocketAccept(key), requestId };
}

/** The answer to bytes that are no request. */
export function answerMalformed(head: MalformedHead): HttpResponse {
  return httpResponse(head.status, head.reason);
}

/** The accept hash of RFC 6455: proof that the server understood the handshake, not a secret. */
export async function websocketAccept(key: string): Promise<string> {
  const bytes = new TextEncoder().encode(key + WEBSOCKET_GUID);
  return btoa(String.fromCharCode(...new Uint8Array(await crypto.subtle.digest("SHA-1", bytes))));
}

/**
 * Keeps web pages out. A page's websocket always carries Origin, whatever its value. A page whose own name has been
 * pointed at this machine (DNS rebinding) could still send requests without one, but then Host is its name. With
 * authentication the second way leads nowhere, and a proxy in front may keep its public name in Host. A request
 * without Host (HTTP/1.0) comes from no browser.
 */
function refuseBrowser(head: RequestHead, context: UpgradeContext): HttpResponse | null {
  if (head.headers.has("origin")) return httpResponse(403);
  const isNameChecked = context.isLoopbackListener && context.authenticator === null && head.hostname !== null;
  if (isNameChecked && !isOwnName(head.hostname!)) return httpResponse(403, UPGRADE_REFUSAL.host);
  return null;
}

/** A name no one else can point here: a literal address or `localhost`. */
function isOwnName(hostname: string): boolean {
  if (hostname.toLowerCase() === "localhost") return true;
  const bracketed = /^\[(.*)\]$/.exec(hostname)?.[1];
  return parseIpAddress(bracketed ?? hostname)?.length === (bracketed === undefined ? 4 : 16);
}

function answerHealth(head: RequestHead): HttpResponse {
  const isProbe = head.method === "GET" || head.method === "HEAD";
  return isProbe ? httpResponse(200) : httpResponse(405, "", { allow: "GET,HEAD" });
}

function refuseHandshake(head: RequestHead): HttpResponse | null {
  if (head.method !== "GET") return httpResponse(405, UPGRADE_REFUSAL.method, { allow: "GET" });
  if (!listIncludes(head, "connection", "upgrade")) return httpResponse(400, UPGRADE_REFUSAL.connection);
  if (!listIncludes(head, "upgrade", "websocket")) return httpResponse(400, UPGRADE_REFUSAL.upgrade);
  const versions = head.headers.get("sec-websocket-version") ?? [];
  if (versions.length !== 1 || versions[0] !== WEBSOCKET_VERSION) {
    return httpResponse(400, UPGRADE_REFUSAL.version, { "sec-websocket-version": WEBSOCKET_VERSION });
  }
  // The key's content is not judged: the reference does not, and only the client gains from a good one.
  const keys = head.headers.get("sec-websocket-key") ?? [];
  if (keys.length > 1) return httpResponse(400, UPGRADE_REFUSAL.repeatedKey);
  if (keys[0] === undefined || keys[0] === "") return httpResponse(400, UPGRADE_REFUSAL.key);
  // A body left unread would be taken for websocket frames.
  if (announcesBody(head)) return httpResponse(413, UPGRADE_REFUSAL.body);
  return head.version === "1.1" ? null : httpResponse(400, UPGRADE_REFUSAL.httpVersion);
}

async function refuseStranger(head: RequestHead, authenticator: Authenticator | null): Promise<HttpResponse | null> {
  if (authenticator === null) return null;
  const values = head.headers.get("authorization") ?? [];
  // Two credentials contradict each other, so neither is tried.
  const outcome = values.length > 1
    ? { ok: false as const, body: AUTH_REFUSAL.invalidHeader }
    : await authenticator(values[0] ?? null);
  return outcome.ok ? null : httpResponse(401, outcome.body, { "www-authenticate": "Bearer" });
}

/** Whether a list field holds a word, in any case. */
function listIncludes(head: RequestHead, name: string, word: string): boolean {
  return listEntries(head, name).some((entry) => entry.toLowerCase() === word);
}

function withholdBody(head: RequestHead, response: HttpResponse): HttpResponse {
  return head.method === "HEAD" && response.body !== "" ? { ...response, body: null } : response;
}
