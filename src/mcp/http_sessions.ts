/**
 * The sessions of clients of the 2025 era over HTTP: each has a protocol instance of its own, found by an id that cannot
 * be guessed and that only its holder may use. A session ends when its client says so, has been away for too long, or
 * may not come in any more; or when there is no room for another one, and nothing runs in it.
 *
 * No client keeps out others: who has as many sessions as one may have loses one of its own for the next, and where all
 * have too many, whoever has most.
 */

import { type Server, WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/server";
import type { Clock } from "../clock.ts";
import type { Logger } from "../log.ts";
import type { CommandPlaces } from "./command_places.ts";
import { HTTP_SESSION_IDLE_MS, MAX_HOLDER_SESSIONS, MAX_HTTP_SESSIONS, MAX_REQUEST_BODY_BYTES } from "./limits.ts";
import { McpConnection } from "./mcp_connection.ts";

const SESSION_HEADER = "mcp-session-id";

export interface HttpSessionsOptions {
  readonly clock: Clock;
  readonly log: Logger;
  readonly create: (connection: McpConnection) => Server;
}

/** Who sends a request. */
export interface HttpClient {
  /** Whose sessions it may use. Null: no token was asked for, or tokens have no names. */
  readonly holder: string | null;
  /** With whom it counts as one. */
  readonly account: string;
  /** For the commands of all of these. */
  readonly places: CommandPlaces;
}

interface Session {
  readonly transport: WebStandardStreamableHTTPServerTransport;
  readonly connection: McpConnection;
  readonly holder: string | null;
  readonly account: string;
  openRequests: number;
  /** Of these, those that ask for something. The others listen. */
  openPosts: number;
  cancelIdle: () => void;
}

export class HttpSessions {
  readonly #options: HttpSessionsOptions;
  /** Those that were used last come last. */
  readonly #sessions = new Map<string, Session>();

  constructor(options: HttpSessionsOptions) {
    this.#options = options;
  }

  /** Answers a request of this era. `finished` resolves when nobody reads the answer any more. */
  async handle(request: Request, client: HttpClient, finished: Promise<void>): Promise<Response> {
    const id = request.headers.get(SESSION_HEADER);
    if (id === null) return await this.#open(request, client);
    const session = this.#sessions.get(id);
    if (session === undefined || session.holder !== client.holder) return refusal(404, "Session not found");
    const posts = request.method === "POST" ? 1 : 0;
    session.openRequests++;
    session.openPosts += posts;
    session.cancelIdle();
    this.#sessions.delete(id);
    this.#sessions.set(id, session);
    void finished.then(() => {
      session.openPosts -= posts;
      if (--session.openRequests === 0) this.#watchIdle(id, session);
    });
    return await session.transport.handleRequest(request);
  }

  /** Whether there is a session of those who count as this one. */
  hasAnyOf(account: string): boolean {
    return this.#sessions.values().some((session) => session.account === account);
  }

  /** Ends the sessions of one holder with their commands. */
  async endOf(holder: string): Promise<void> {
    const own = Array.from(this.#sessions).filter(([, session]) => session.holder === holder);
    await Promise.all(own.map(([id]) => this.#end(id)));
  }

  /** Ends all sessions with their commands. */
  async close(): Promise<void> {
    await Promise.all([...this.#sessions.keys()].map((id) => this.#end(id)));
  }

  /** A request that does not begin a session is refused by the transport, which is then not kept. */
  async #open(request: Request, { holder, account, places }: HttpClient): Promise<Response> {
    if (this.#placeFor(account) === "none") return refusal(503, NO_PLACE);
    let hasPlace = true;
    const { clock, create } = this.#options;
    const connection = new McpConnection({ clock, idleMs: null, places, holder });
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => crypto.randomUUID(),
      maxRequestBodySize: MAX_REQUEST_BODY_BYTES,
      onsessioninitialized: (id) => {
        // Only now: a request that begins no session takes nobody's place.
        const place = this.#placeFor(account);
        hasPlace = place !== "none";
        if (place === "none") return;
        if (place !== "free") this.#endForAnother(place);
        const session: Session = {
          ...{ transport, connection, holder, account },
          ...{ openRequests: 0, openPosts: 0, cancelIdle: () => {} },
        };
        this.#sessions.set(id, session);
        this.#watchIdle(id, session);
      },
      onsessionclosed: (id) => this.#end(id),
    });
    await create(connection).connect(transport);
    const response = await transport.handleRequest(request);
    if (hasPlace) return response;
    await response.body?.cancel();
    await transport.close();
    return refusal(503, NO_PLACE);
  }

  /** Whether there is a place for one more, or the session that has to end for it. */
  #placeFor(account: string): "free" | "none" | string {
    const counts = new Map<string, number>();
    for (const session of this.#sessions.values()) {
      counts.set(session.account, (counts.get(session.account) ?? 0) + 1);
    }
    if ((counts.get(account) ?? 0) >= MAX_HOLDER_SESSIONS) return this.#idlest(account) ?? "none";
    if (this.#sessions.size < MAX_HTTP_SESSIONS) return "free";
    // The place of somebody who has more than the one who asks. Who has most comes first.
    const most = [...counts].sort(([, one], [, other]) => other - one);
    for (const [other] of most) {
      const id = this.#idlest(other);
      if (id !== null) return id;
    }
    return "none";
  }

  /** The session that was used longest ago, of those in which nothing runs: one that never ran a command first. */
  #idlest(account: string): string | null {
    let idlest: string | null = null;
    for (const [id, session] of this.#sessions) {
      const { connection, openPosts } = session;
      if (session.account !== account || openPosts > 0 || connection.hasCommands) continue;
      if (!connection.hasRun) return id;
      idlest ??= id;
    }
    return idlest;
  }

  #endForAnother(id: string): void {
    const { account } = this.#sessions.get(id)!;
    const { size } = this.#sessions;
    this.#options.log.info("MCP session ended to make room for another", { client: account, sessions: size });
    void this.#end(id);
  }

  #watchIdle(id: string, session: Session): void {
    if (this.#sessions.get(id) !== session) return;
    session.cancelIdle = this.#options.clock.setTimer(HTTP_SESSION_IDLE_MS, () => void this.#end(id));
  }

  async #end(id: string): Promise<void> {
    const session = this.#sessions.get(id);
    if (session === undefined) return;
    this.#sessions.delete(id);
    session.cancelIdle();
    await session.connection.close();
    await session.transport.close();
  }
}

const NO_PLACE = "too many sessions, and a command runs in each: end one with DELETE, or come again later";

function refusal(status: number, message: string): Response {
  return Response.json({ jsonrpc: "2.0", error: { code: -32_001, message }, id: null }, { status });
}
