/** The client's side of MCP, message by message: what a client library would hide or repair is seen as it is. */

export interface McpMessage {
  readonly id?: number | string | null;
  readonly method?: string;
  // deno-lint-ignore no-explicit-any
  readonly params?: any;
  // deno-lint-ignore no-explicit-any
  readonly result?: any;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

export class McpError extends Error {
  readonly code: number;
  readonly data: unknown;

  constructor({ code, message, data }: NonNullable<McpMessage["error"]>) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

/** Answers a question of the server: the result, or an error to reject with. */
export type OnElicit = (params: { message: string; requestedSchema: unknown; _meta?: unknown }) => unknown;

/** In place of a result: the members of an answer besides its id, well-formed or not. */
export class RawAnswer {
  readonly members: object;

  constructor(members: object) {
    this.members = members;
  }
}

const MODERN = "2026-07-28";

export class McpPeer {
  readonly #send: (message: object) => void;
  readonly #pending = new Map<number | string, (message: McpMessage) => void>();
  readonly notifications: McpMessage[] = [];
  readonly prompts: { message: string; requestedSchema: unknown; _meta?: unknown }[] = [];
  onElicit: OnElicit = () => ({ action: "decline" });
  /** Answers to no request: the server could not read which. */
  readonly strays: McpMessage[] = [];
  /** Aborted questions of the server, by their ids. */
  readonly cancelled: unknown[] = [];
  #nextId = 1;
  #watchers: (() => void)[] = [];

  constructor(send: (message: object) => void) {
    this.#send = send;
  }

  /** What came from the server. */
  receive(message: McpMessage): void {
    if (message.method === "elicitation/create") void this.#answer(message);
    else if (message.method !== undefined) {
      this.notifications.push(message);
      if (message.method === "notifications/cancelled") this.cancelled.push(message.params.requestId);
    } else if (message.id === null) this.strays.push(message);
    else {
      this.#pending.get(message.id!)?.(message);
      this.#pending.delete(message.id!);
    }
    for (const watch of this.#watchers.splice(0)) watch();
  }

  /** Resolves once this is so. */
  async until(isSo: () => boolean): Promise<void> {
    while (!isSo()) await new Promise<void>((resolve) => this.#watchers.push(resolve));
  }

  notify(method: string, params?: unknown): void {
    this.#send({ jsonrpc: "2.0", method, ...(params === undefined ? {} : { params }) });
  }

  /** The id of the request that is sent next. */
  get nextId(): number {
    return this.#nextId;
  }

  // deno-lint-ignore no-explicit-any
  request(method: string, params?: unknown): Promise<any> {
    const id = this.#nextId++;
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.#pending.set(id, ({ result, error }) => error === undefined ? resolve(result) : reject(new McpError(error)));
    this.#send({ jsonrpc: "2.0", id, method, ...(params === undefined ? {} : { params }) });
    return promise;
  }

  /** The handshake of the 2025 era. */
  // deno-lint-ignore no-explicit-any
  async initialize({ name = "test", capabilities = { elicitation: {} } as object } = {}): Promise<any> {
    const result = await this.request("initialize", {
      protocolVersion: "2025-06-18",
      capabilities,
      clientInfo: { name, version: "1" },
    });
    this.notify("notifications/initialized");
    return result;
  }

  // deno-lint-ignore no-explicit-any
  call(name: string, args: object, meta?: object, more: object = {}): Promise<any> {
    const params = { name, arguments: args, ...(meta === undefined ? {} : { _meta: meta }), ...more };
    return this.request("tools/call", params);
  }

  /** The `_meta` that every request of the 2026 era carries. */
  static modernMeta({ name = "test", capabilities = { elicitation: { form: {} } } as object } = {}): object {
    return {
      "io.modelcontextprotocol/protocolVersion": MODERN,
      "io.modelcontextprotocol/clientInfo": { name, version: "1" },
      "io.modelcontextprotocol/clientCapabilities": capabilities,
    };
  }

  async #answer({ id, params }: McpMessage): Promise<void> {
    this.prompts.push(params);
    try {
      const result = await this.onElicit(params);
      this.#send({ jsonrpc: "2.0", id, ...(result instanceof RawAnswer ? result.members : { result }) });
    } catch (error) {
      this.#send({ jsonrpc: "2.0", id, error: { code: -32_603, message: String(error) } });
    }
  }
}
