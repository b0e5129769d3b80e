/**
 * MCP over streamable HTTP, behind the same door as the websocket server: the same addresses, users, tokens, refusals
 * and bounds. Both eras are served at one path. The protocol library decides to which era a request belongs.
 */

import { createMcpHandler, isLegacyRequest, type McpHttpHandler } from "@modelcontextprotocol/server";
import type { Clock } from "../clock.ts";
import type { Logger } from "../log.ts";
import type { Authenticator } from "../transport/door/auth.ts";
import { Door, type DoorRequest } from "../transport/door/door.ts";
import type { RequestHead } from "../transport/door/http_head.ts";
import { type HttpResponse, httpResponse, isHttpStatus } from "../transport/door/http_response.ts";
import { isLoopbackAddress } from "../transport/listen/ip_address.ts";
import type { ListenerAddress } from "../transport/listen/listen_bind.ts";
import { openLocalUsers } from "../transport/listener.ts";
import type { LocalUsers } from "../transport/door/local_users.ts";
import type { SecureLayer } from "../transport/tls/secure_layer.ts";
import type { StreamedResponse } from "../transport/door/streamed_response.ts";
import type { Admission } from "../transport/tokens/admissions.ts";
import { type AcceptedUpgrade, decideEntry } from "../transport/door/upgrade.ts";
import { CommandPlaces } from "./command_places.ts";
import { accountOf } from "./http_account.ts";
import { type HttpClient, HttpSessions } from "./http_sessions.ts";
import { HTTP_SESSION_IDLE_MS, MAX_REQUEST_BODY_BYTES } from "./limits.ts";
import { McpConnection } from "./mcp_connection.ts";
import type { ProtocolServers } from "./protocol_server.ts";
import { readableText } from "./readable_message.ts";

export interface HttpEndpointOptions {
  readonly address: ListenerAddress;
  readonly tls: SecureLayer | null;
  /** Null lets everybody in. */
  readonly authenticator: Authenticator | null;
  readonly allowOtherUsers: boolean;
  readonly servers: ProtocolServers;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Where clients connect. The second is what a printed URL with a token leads to. */
const PATHS = ["/mcp", "/"];

/** Not passed to the protocol library: who may come in is already decided, and the others are about the connection. */
const WITHHELD_HEADERS = new Set(["authorization", "connection", "host", "content-length", "transfer-encoding"]);

type ForeignPeer = string | null;

/** What those who count as one client have. */
interface Account {
  readonly places: CommandPlaces;
  openRequests: number;
  /** Clients of the 2026 era have no session. What they own is kept here. */
  modern: { readonly connection: McpConnection; readonly handler: McpHttpHandler } | null;
}

export class HttpEndpoint {
  readonly #options: HttpEndpointOptions;
  readonly #door: Door<ForeignPeer, AcceptedUpgrade>;
  readonly #users: LocalUsers | null;
  readonly #sessions: HttpSessions;
  readonly #accounts = new Map<string, Account>();
  /** One login of each holder. It outlives its request, as sessions and commands do, so that its end ends them. */
  readonly #logins = new Map<string, Admission>();

  private constructor(door: Door<ForeignPeer, AcceptedUpgrade>, options: HttpEndpointOptions) {
    this.#door = door;
    this.#options = options;
    this.#users = openLocalUsers(options);
    const { clock, log, servers } = options;
    this.#sessions = new HttpSessions({ clock, log, create: (connection) => servers.create("legacy", connection) });
  }

  /** Binds the address; rejects with a `ListenError` when that is not possible. */
  static async open(options: HttpEndpointOptions): Promise<HttpEndpoint> {
    return new HttpEndpoint(await Door.open({ ...options, maxBodyBytes: MAX_REQUEST_BODY_BYTES }), options);
  }

  /** Without the path. */
  get url(): string {
    return this.#door.url.replace(/^ws/, "http");
  }

  /** Serves until `close`. */
  async run(): Promise<void> {
    await this.#door.run({
      // Must be asked now: see `local_users.ts`.
      inspect: (stream) => this.#users?.refuse(stream) ?? null,
      answer: (request) => this.#answer(request),
      serve: () => Promise.reject(new Error("there are no websockets here")),
    });
  }

  /** Lets nobody in any more, and ends all commands. */
  async close(): Promise<void> {
    this.#door.close();
    const accounts = [...this.#accounts.values()];
    await Promise.all([this.#sessions.close(), ...accounts.map(({ modern }) => modern?.connection.close())]);
    await this.#door.dropAll();
    for (const login of this.#logins.values()) login.release();
    this.#users?.close();
  }

  async #answer(request: DoorRequest<ForeignPeer>): Promise<HttpResponse | StreamedResponse> {
    const { authenticator, address } = this.#options;
    const isLoopbackListener = address.type === "tcp" && isLoopbackAddress(address.hostname);
    const entry = await decideEntry(
      request.head,
      { authenticator, isLoopbackListener, foreignPeer: request.inspection },
      PATHS,
    );
    if (entry.type === "response") return entry;
    const { body, head } = request;
    if (body === null) {
      entry.admission?.release();
      return head.headers.has("transfer-encoding")
        ? httpResponse(411, "the length of the body must be stated")
        : httpResponse(413, `a body has at most ${MAX_REQUEST_BODY_BYTES} bytes`);
    }
    return await this.#serve(request, body, entry.admission);
  }

  async #serve(
    { head, remote, whenGone }: DoorRequest<ForeignPeer>,
    body: Uint8Array<ArrayBuffer>,
    admission: Admission | undefined,
  ): Promise<HttpResponse | StreamedResponse> {
    const finished = Promise.withResolvers<void>();
    const gone = new AbortController();
    void whenGone().then(() => gone.abort());
    const revoke = () => gone.abort();
    admission?.revoked.addEventListener("abort", revoke, { once: true });
    if (admission?.revoked.aborted) revoke();
    const isKept = admission !== undefined && this.#keep(admission);
    const name = accountOf(admission?.holder, remote);
    const account = this.#account(name);
    account.openRequests++;
    void finished.promise.then(() => {
      account.openRequests--;
      admission?.revoked.removeEventListener("abort", revoke);
      if (!isKept) admission?.release();
    });
    gone.signal.addEventListener("abort", () => finished.resolve(), { once: true });
    try {
      const request = requestOf(head, body, gone.signal);
      const client: HttpClient = { holder: admission?.holder ?? null, account: name, places: account.places };
      const isLegacy = await isLegacyRequest(request);
      gone.signal.throwIfAborted();
      const response = isLegacy
        ? await this.#sessions.handle(request, client, finished.promise)
        : await this.#modern(account, client.holder).fetch(request);
      return await answerOf(response, finished.resolve);
    } catch (error) {
      finished.resolve();
      if (gone.signal.aborted) return httpResponse(400, "the client has gone");
      throw error;
    }
  }

  /** Whether this is the login of its holder that is kept. */
  #keep(login: Admission): boolean {
    const { holder, revoked } = login;
    if (revoked.aborted || this.#logins.has(holder)) return false;
    this.#logins.set(holder, login);
    revoked.addEventListener("abort", () => void this.#putOut(holder), { once: true });
    return true;
  }

  /** Ends what belongs to a holder whose token does not let it in any more. */
  async #putOut(holder: string): Promise<void> {
    this.#logins.delete(holder);
    const name = accountOf(holder, "");
    const own = this.#accounts.get(name);
    this.#accounts.delete(name);
    await Promise.all([this.#sessions.endOf(holder), own?.modern?.connection.close()]);
  }

  /** Those that have nothing any more are forgotten when there is a new one. */
  #account(name: string): Account {
    const known = this.#accounts.get(name);
    if (known !== undefined) return known;
    for (const [other, { modern, places, openRequests }] of this.#accounts) {
      const isInUse = openRequests > 0 || places.taken > 0 || modern?.connection.isEmpty === false;
      if (!isInUse && !this.#sessions.hasAnyOf(other)) this.#accounts.delete(other);
    }
    const account: Account = { places: new CommandPlaces(), openRequests: 0, modern: null };
    this.#accounts.set(name, account);
    return account;
  }

  #modern(account: Account, holder: string | null): McpHttpHandler {
    if (account.modern !== null) return account.modern.handler;
    const { clock, servers, log } = this.#options;
    const { places } = account;
    const connection = new McpConnection({ clock, idleMs: HTTP_SESSION_IDLE_MS, hasSession: false, holder, places });
    const handler = createMcpHandler(() => servers.create("modern", connection), {
      legacy: "reject",
      maxRequestBodySize: MAX_REQUEST_BODY_BYTES,
      onerror: (error) => log.debug("MCP request not served", { reason: error.message }),
    });
    account.modern = { connection, handler };
    return handler;
  }
}

function requestOf(head: RequestHead, body: Uint8Array<ArrayBuffer>, signal: AbortSignal): Request {
  const headers = new Headers();
  for (const [name, values] of head.headers) {
    if (WITHHELD_HEADERS.has(name)) continue;
    for (const value of values) headers.append(name, value);
  }
  const hasBody = head.method !== "GET" && head.method !== "HEAD" && body.length > 0;
  return new Request("http://localhost/mcp", {
    method: head.method,
    headers,
    signal,
    ...(hasBody ? { body: readableText(new TextDecoder().decode(body)) } : {}),
  });
}

/** Whole, or piece by piece for a stream of events. */
async function answerOf(response: Response, onFinished: () => void): Promise<HttpResponse | StreamedResponse> {
  const { status, body } = response;
  if (!isHttpStatus(status)) throw new Error(`the protocol library answers with status ${status}`);
  const headers = Object.fromEntries([...response.headers].filter(([name]) => name !== "connection"));
  if (body === null || headers["content-type"]?.startsWith("text/event-stream") !== true) {
    const text = await response.text();
    onFinished();
    return httpResponse(status, text === "" ? "" : text, headers);
  }
  const told = body.pipeThrough(new TransformStream({ flush: onFinished, cancel: onFinished }));
  return { type: "stream", status, headers, body: told };
}
