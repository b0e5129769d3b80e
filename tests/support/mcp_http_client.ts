/** A client of MCP over streamable HTTP, request by request: streams of events are read as they come. */

import { type McpMessage, McpPeer } from "./mcp_peer.ts";

export interface HttpClientOptions {
  readonly url: string;
  readonly headers?: Record<string, string>;
}

/** Each message is a request of its own; what the answers bring goes to the peer. */
export class McpHttpClient {
  readonly peer: McpPeer;
  readonly #options: HttpClientOptions;
  readonly #open = new Set<AbortController>();
  readonly #lives = new Set<Promise<void>>();
  sessionId: string | null = null;

  constructor(options: HttpClientOptions) {
    this.#options = options;
    this.peer = new McpPeer((message) => {
      const life = this.#post(message).catch(() => {}).finally(() => this.#lives.delete(life));
      this.#lives.add(life);
    });
  }

  /** A raw request, with the session's headers. */
  async fetch(init: RequestInit & { body?: string } = {}): Promise<Response> {
    const headers = new Headers({
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      ...this.#options.headers,
      ...(this.sessionId === null ? {} : { "mcp-session-id": this.sessionId, "mcp-protocol-version": "2025-06-18" }),
      ...init.headers as Record<string, string> | undefined,
    });
    return await fetch(this.#options.url, { method: "POST", ...init, headers });
  }

  /** Drops all connections, as a client that dies. */
  async drop(): Promise<void> {
    for (const controller of this.#open) controller.abort();
    await Promise.all(this.#lives);
  }

  async #post(message: object): Promise<void> {
    const controller = new AbortController();
    this.#open.add(controller);
    try {
      const { method, params } = message as { method?: string; params?: { _meta?: object; name?: string } };
      const isModern = JSON.stringify(params?._meta ?? {}).includes("io.modelcontextprotocol/protocolVersion");
      const modern = isModern
        ? {
          "mcp-protocol-version": "2026-07-28",
          "mcp-method": method!,
          ...(params?.name && { "mcp-name": params.name }),
        }
        : {};
      const response = await this.fetch({ body: JSON.stringify(message), headers: modern, signal: controller.signal });
      this.sessionId ??= response.headers.get("mcp-session-id");
      if (response.headers.get("content-type")?.startsWith("text/event-stream")) await this.#events(response.body!);
      else {
        const text = await response.text();
        if (text.startsWith("{")) this.peer.receive(JSON.parse(text) as McpMessage);
      }
    } finally {
      this.#open.delete(controller);
    }
  }

  async #events(body: ReadableStream<Uint8Array>): Promise<void> {
    let text = "";
    for await (const chunk of body.pipeThrough(new TextDecoderStream() as never) as unknown as AsyncIterable<string>) {
      text += chunk;
      for (let end; (end = text.indexOf("\n\n")) >= 0; text = text.slice(end + 2)) {
        const data = /^data: (.*)$/m.exec(text.slice(0, end))?.[1];
        if (data) this.peer.receive(JSON.parse(data) as McpMessage);
      }
    }
  }
}
