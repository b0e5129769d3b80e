/**
 * Decides the answer to one HTTP request: a health probe, a test of a login, a refusal, or the upgrade to a websocket.
 *
 * A pure decision in the reference server's order: Origin, Host (ours), route, user (ours), method, upgrade headers,
 * auth. Statuses and bodies are the reference's too, since clients show them. The listener reads the request, writes
 * the answer and serves the websocket.
 */

import { shortened } from "../../log.ts";
import { AUTH_REFUSAL, type Authenticator, type AuthOutcome } from "./auth.ts";
import { announcesBody, listEntries, type MalformedHead, type RequestHead } from "./http_head.ts";
import { type HttpResponse, httpResponse } from "./http_response.ts";
import { parseIpAddress } from "../listen/ip_address.ts";
import { OTHER_USER_REFUSAL } from "./local_users.ts";
import { sha1 } from "../websocket/sha1.ts";
import type { Admission } from "../tokens/admissions.ts";
import {
  allowedOrigin,
  crossOriginHeaders,
  preflightHeaders,
  selectedSubprotocol,
  subprotocolCredentials,
} from "./web_page.ts";

export interface UpgradeContext {
  /** Null lets everybody in. */
  readonly authenticator: Authenticator | null;
  /** Whether the listener is on a TCP loopback address, where a browser on this machine could be led to it. */
  readonly isLoopbackListener: boolean;
  /** For the log: why the peer is not one of the served users. Null or absent if it is one. */
  readonly foreignPeer?: string | null;
  /** Web pages of these origins may connect, if there is an authenticator. Default: none. */
  readonly allowedOrigins?: readonly string[];
}

export interface AcceptedUpgrade {
  readonly type: "upgrade";
  /** The value of `Sec-WebSocket-Accept`. */
  readonly accept: string;
  /** The peer's `x-request-id`, to be echoed in the 101. */
  readonly requestId: string | null;
  /** The subprotocol to select, if a known one was offered. */
  readonly protocol?: string;
  /**
   * The peer's login, if it can be revoked. Whoever serves the peer closes the connection then, and releases this at
   * its end.
   */
  readonly admission?: Admission;
}

const HEALTH_PATHS: readonly string[] = ["/readyz", "/healthz"];
const WEBSOCKET_PATH = "/";
/** For clients whose websocket does not tell them why an upgrade was refused. */
const SESSION_CHECK_PATH = "/session-check";
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
  host: "Host must be an IP address or localhost: without authentication this server accepts no other names",
} as const;

/** The answer to one request. Rejects only if the authenticator does. */
export async function decideUpgrade(
  head: RequestHead,
  context: UpgradeContext,
): Promise<HttpResponse | AcceptedUpgrade> {
  const { authenticator, allowedOrigins = [] } = context;
  const origin = authenticator === null ? null : allowedOrigin(head, allowedOrigins);
  const refused = origin === null ? refuseBrowser(head, context) : null;
  if (refused !== null) return withholdBody(head, refused);
  if (HEALTH_PATHS.includes(head.path)) return answerHealth(head);
  const { foreignPeer = null } = context;
  if (foreignPeer !== null) {
    return withholdBody(head, { ...httpResponse(403, OTHER_USER_REFUSAL), reason: foreignPeer });
  }
  if (head.path === SESSION_CHECK_PATH) return await checkSession(head, authenticator, origin);
  if (head.path !== WEBSOCKET_PATH) return httpResponse(404);

  const malformed = refuseHandshake(head);
  if (malformed !== null) return withholdBody(head, malformed);
  const credentials = [...authorization(head), ...(origin === null ? [] : subprotocolCredentials(head))];
  const login = await authenticate(credentials, head.target, authenticator);
  if (!login.ok) return unauthorized(login.body);

  const [key = ""] = head.headers.get("sec-websocket-key") ?? [];
  const [requestId = null] = head.headers.get("x-request-id") ?? [];
  const { admission } = login;
  const protocol = selectedSubprotocol(head);
  return {
    type: "upgrade",
    accept: websocketAccept(key),
    requestId,
    ...(protocol === null ? {} : { protocol }),
    ...(admission && { admission }),
  };
}

/** A request of another protocol that may be served, and the login of its client. */
export interface AdmittedEntry {
  readonly type: "entry";
  readonly admission?: Admission;
}

/**
 * Whether a request that is not for a websocket may be served at one of `paths`. It is refused in the same cases as an
 * upgrade and with the same texts, but for the word websocket. Web pages are always refused: the only accepted Origin
 * is this server itself, which serves no pages.
 */
export async function decideEntry(
  head: RequestHead,
  context: Omit<UpgradeContext, "allowedOrigins">,
  paths: readonly string[],
): Promise<HttpResponse | AdmittedEntry> {
  const { authenticator, foreignPeer = null } = context;
  const refused = isOwnOrigin(head) ? null : refuseBrowser(head, context);
  if (refused !== null) return withholdBody(head, refused);
  if (HEALTH_PATHS.includes(head.path)) return answerHealth(head);
  if (foreignPeer !== null) {
    return withholdBody(head, { ...httpResponse(403, OTHER_USER_REFUSAL), reason: foreignPeer });
  }
  if (!paths.includes(head.path)) return httpResponse(404);
  const login = await authenticate(authorization(head), head.target, authenticator);
  if (!login.ok) return unauthorized(withoutWebsocket(login.body));
  return { type: "entry", ...(login.admission && { admission: login.admission }) };
}

/** Tests a login as an upgrade would, without letting the client in. */
async function checkSession(
  head: RequestHead,
  authenticator: Authenticator | null,
  origin: string | null,
): Promise<HttpResponse> {
  if (origin !== null && head.method === "OPTIONS") return httpResponse(204, null, preflightHeaders(head, origin));
  const readable = (answer: HttpResponse): HttpResponse =>
    origin === null ? answer : { ...answer, headers: { ...answer.headers, ...crossOriginHeaders(origin) } };
  if (head.method !== "GET") return readable(httpResponse(405, UPGRADE_REFUSAL.method, { allow: "GET" }));
  if (announcesBody(head)) return readable(httpResponse(413, UPGRADE_REFUSAL.body));
  const login = await authenticate(authorization(head), head.target, authenticator);
  if (!login.ok) return readable(unauthorized(login.body));
  login.admission?.release();
  return readable(httpResponse(204, null));
}

/** The answer to bytes that are not a request. */
export function answerMalformed(head: MalformedHead): HttpResponse {
  return httpResponse(head.status, head.reason);
}

/** The accept hash of RFC 6455: proof that the server understood the handshake, not a secret. */
export function websocketAccept(key: string): string {
  return sha1(key + WEBSOCKET_GUID).toBase64();
}

/**
 * Keeps web pages out. A page's websocket always has an Origin header, whatever its value. A page whose own name was
 * pointed at this machine (DNS rebinding) could send requests without one, but then Host is its name. With
 * authentication the name does not matter, because such a page has no token, and a proxy in front may keep its public
 * name in Host. A request without Host (HTTP/1.0) does not come from a browser.
 */
function refuseBrowser(head: RequestHead, context: UpgradeContext): HttpResponse | null {
  const origins = head.headers.get("origin");
  if (origins !== undefined) return { ...httpResponse(403), reason: originRefusal(origins) };
  const isNameChecked = context.isLoopbackListener && context.authenticator === null && head.hostname !== null;
  if (isNameChecked && !isOwnName(head.hostname!)) return httpResponse(403, UPGRADE_REFUSAL.host);
  return null;
}

/** Whether Origin is this server itself, by a name that nobody else can point here. */
function isOwnOrigin({ headers, hostname }: RequestHead): boolean {
  const [origin, ...others] = headers.get("origin") ?? [];
  const host = headers.get("host")?.[0];
  if (origin === undefined || others.length > 0 || host === undefined || hostname === null) return false;
  return isOwnName(hostname) && (origin === `http://${host}` || origin === `https://${host}`);
}

/** How much of an Origin is logged: more than a scheme, a name and a port have. */
const MAX_ORIGIN_CHARS = 256;

/** Only in the log: the reference's answer has no body. */
function originRefusal(origins: readonly string[]): string {
  const given = shortened(origins.join(", "), MAX_ORIGIN_CHARS);
  return `the request has an Origin header (${given}): web pages may not connect`;
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

/** Why a request is not a websocket handshake; null when it is one. Does not look at the path. */
export function refuseHandshake(head: RequestHead): HttpResponse | null {
  if (head.method !== "GET") return httpResponse(405, UPGRADE_REFUSAL.method, { allow: "GET" });
  if (!listIncludes(head, "connection", "upgrade")) return httpResponse(400, UPGRADE_REFUSAL.connection);
  if (!listIncludes(head, "upgrade", "websocket")) return httpResponse(400, UPGRADE_REFUSAL.upgrade);
  const versions = head.headers.get("sec-websocket-version") ?? [];
  if (versions.length !== 1 || versions[0] !== WEBSOCKET_VERSION) {
    return httpResponse(400, UPGRADE_REFUSAL.version, { "sec-websocket-version": WEBSOCKET_VERSION });
  }
  // The content of the key is not checked: the reference does not either, and a good key only helps the client.
  const keys = head.headers.get("sec-websocket-key") ?? [];
  if (keys.length > 1) return httpResponse(400, UPGRADE_REFUSAL.repeatedKey);
  if (keys[0] === undefined || keys[0] === "") return httpResponse(400, UPGRADE_REFUSAL.key);
  // A body left unread would be taken for websocket frames.
  if (announcesBody(head)) return httpResponse(413, UPGRADE_REFUSAL.body);
  return head.version === "1.1" ? null : httpResponse(400, UPGRADE_REFUSAL.httpVersion);
}

function authorization(head: RequestHead): readonly string[] {
  return head.headers.get("authorization") ?? [];
}

async function authenticate(
  credentials: readonly string[],
  target: string,
  authenticator: Authenticator | null,
): Promise<AuthOutcome> {
  if (authenticator === null) return { ok: true };
  // Two credentials contradict each other, so both are ignored.
  if (credentials.length > 1) return { ok: false, body: AUTH_REFUSAL.invalidHeader };
  return await authenticator(credentials[0] ?? null, target);
}

/** The reference's texts speak of websockets, but hold for every request. */
function withoutWebsocket(body: string): string {
  return body.replace("websocket ", "");
}

function unauthorized(body: string): HttpResponse {
  return httpResponse(401, body, { "www-authenticate": "Bearer" });
}

/** Whether a list field holds a word, in any case. */
function listIncludes(head: RequestHead, name: string, word: string): boolean {
  return listEntries(head, name).some((entry) => entry.toLowerCase() === word);
}

function withholdBody(head: RequestHead, response: HttpResponse): HttpResponse {
  return head.method === "HEAD" && response.body !== "" ? { ...response, body: null } : response;
}
