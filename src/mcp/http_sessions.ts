/**
 * The sessions of clients of the 2025 era over HTTP: each has a protocol instance of its own, found by an id that cannot
 * be guessed and that only its holder may use. A session ends when its client says so, has been away for too long, or
 * may not come in any more.
 */

import { type Server, WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/server";
import type { Clock } from "../clock.ts";
import { HTTP_SESSION_IDLE_MS, MAX_HTTP_SESSIONS, MAX_REQUEST_BODY_BYTES } from "./limits.ts";
import { McpConnection } from "./mcp_connection.ts";

const SESSION_HEADER = "mcp-session-id";

export interface HttpSessionsOptions {
  readonly clock: Clock;
  readonly create: (connection: McpConnection) => Server;
}

interface Session {
  readonly transport: WebStandardStreamableHTTPServerTransport;
  readonly connection: McpConnection;
  readonly holder: string;
  openRequests: number;
  cancelIdle: () => void;
}

export class HttpSessions {
  readonly #options: HttpSessionsOptions;
  readonly #sessions = new Map<string, Session>();

  constructor(options: HttpSessionsOptions) {
    this.#options = options;
  }

  /** Answers a request of this era. `finished` resolves when nobody reads the answer any more. */
  async handle(request: Request, holder: string, finished: Promise<void>): Promise<Response> {
    const id = request.headers.get(SESSION_HEADER);
    if (id === null) return await this.#open(request, holder);
    const session = this.#sessions.get(id);
    if (session === undefined || session.holder !== holder) return refusal(404, "Session not found");
    session.openRequests++;
    session.cancelIdle();
    void finished.then(() => {
      if (--session.openRequests === 0) this.#watchIdle(id, session);
    });
    return await session.transport.handleRequest(request);
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
  async #open(request: Request, holder: string): Promise<Response> {
    if (this.#sessions.size >= MAX_HTTP_SESSIONS) return refusal(503, "too many sessions");
    const connection = new McpConnection({ clock: this.#options.clock, idleMs: null });
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => crypto.randomUUID(),
      maxRequestBodySize: MAX_REQUEST_BODY_BYTES,
      onsessioninitialized: (id) => {
        const session: Session = { transport, connection, holder, openRequests: 0, cancelIdle: () => {} };
        this.#sessions.set(id, session);
        this.#watchIdle(id, session);
      },
      onsessionclosed: (id) => this.#end(id),
    });
    await this.#options.create(connection).connect(transport);
    return await transport.handleRequest(request);
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

function refusal(status: number, message: string): Response {
  return Response.json({ jsonrpc: "2.0", error: { code: -32_001, message }, id: null }, { status });
}
