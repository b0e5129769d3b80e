/**
 * One connection to the server under test, as plain as possible: it sends texts and receives messages. It does not use
 * this program's client or schemas, so what it finds is about the wire.
 */

export interface Message {
  readonly id?: unknown;
  readonly method?: string;
  // deno-lint-ignore no-explicit-any
  readonly params?: any;
  // deno-lint-ignore no-explicit-any
  readonly result?: any;
  readonly error?: { readonly code: number; readonly message: string };
}

/** A promise of the protocol was broken. The message says what was expected and what came. */
export class Broken extends Error {
  override readonly name = "Broken";
}

export interface PeerOptions {
  readonly url: string;
  readonly token: string | null;
  /** How long an answer may take if it should come at once. */
  readonly patienceMs: number;
}

/** How the connection ended. */
export interface Closing {
  readonly code: number;
  readonly reason: string;
}

export class Peer {
  readonly #socket: WebSocket;
  readonly #patienceMs: number;
  /** Texts and messages that no check has asked for yet, in the order they came. */
  readonly #inbox: { readonly text: string; readonly message: Message }[] = [];
  readonly #waiters = new Set<() => void>();
  #closing: Closing | null = null;
  #lastId = 0;

  private constructor(socket: WebSocket, patienceMs: number) {
    this.#socket = socket;
    this.#patienceMs = patienceMs;
    socket.onmessage = ({ data }) => {
      const text = typeof data === "string" ? data : new TextDecoder().decode(data as ArrayBuffer);
      this.#inbox.push({ text, message: JSON.parse(text) });
      this.#wake();
    };
    socket.onclose = ({ code, reason }) => {
      this.#closing = { code, reason };
      this.#wake();
    };
  }

  /** Throws when the server cannot be reached or refuses. */
  static async open({ url, token, patienceMs }: PeerOptions): Promise<Peer> {
    const headers = token === null ? {} : { authorization: `Bearer ${token}` };
    const socket = new WebSocket(url, { headers } as unknown as string[]);
    socket.binaryType = "arraybuffer";
    await new Promise<void>((resolve, reject) => {
      const late = setTimeout(() => socket.close(), patienceMs);
      const refuse = () => reject(new Error("the server cannot be reached, or refuses the connection"));
      socket.onopen = () => (clearTimeout(late), resolve());
      socket.onclose = () => (clearTimeout(late), refuse());
      socket.onerror = (event) => event.preventDefault();
    });
    return new Peer(socket, patienceMs);
  }

  send(text: string): void {
    this.#socket.send(text);
  }

  notify(method: string, params?: unknown): void {
    this.send(JSON.stringify({ method, ...(params === undefined ? {} : { params }) }));
  }

  /** Sends a request and returns its id. */
  ask(method: string, params?: unknown): number {
    const id = ++this.#lastId;
    this.send(JSON.stringify({ id, method, ...(params === undefined ? {} : { params }) }));
    return id;
  }

  /** The answer to a request: a result or an error. */
  async answer(id: unknown): Promise<Message> {
    return (await this.take((message) => message.method === undefined && message.id === id, `an answer to ${id}`))
      .message;
  }

  async request(method: string, params?: unknown): Promise<Message> {
    return await this.answer(this.ask(method, params));
  }

  /** The result of a request, which must succeed. */
  // deno-lint-ignore no-explicit-any
  async result(method: string, params?: unknown): Promise<any> {
    const { result, error } = await this.request(method, params);
    if (error !== undefined) throw new Broken(`${method} is answered with ${error.code} (${error.message})`);
    return result;
  }

  /** Expects a request to be refused with this code. */
  async refused(code: number, method: string, params?: unknown): Promise<void> {
    const { result, error } = await this.request(method, params);
    const came = error === undefined ? `the result ${JSON.stringify(result)}` : `${error.code} (${error.message})`;
    if (error?.code !== code) throw new Broken(`${method} should be refused with ${code}: it is answered with ${came}`);
  }

  /** The next notification of this name, and about this process if one is given. */
  async told(method: string, processId?: string): Promise<Message["params"]> {
    const matches = (message: Message) =>
      message.method === method && (processId === undefined || message.params.processId === processId);
    return (await this.take(matches, `${method}${processId === undefined ? "" : ` of ${processId}`}`)).message.params;
  }

  /** Removes and returns the next message that matches. */
  async take(matches: (message: Message) => boolean, what: string): Promise<{ text: string; message: Message }> {
    const deadline = performance.now() + this.#patienceMs;
    for (;;) {
      const index = this.#inbox.findIndex(({ message }) => matches(message));
      if (index >= 0) return this.#inbox.splice(index, 1)[0]!;
      if (this.#closing !== null) throw new Broken(`${what} should come: the connection has ended`);
      if (!await this.#news(deadline)) throw new Broken(`${what} should come: nothing came in ${this.#patienceMs} ms`);
    }
  }

  /** Messages that have come and that no check has asked for. */
  get untaken(): readonly Message[] {
    return this.#inbox.map(({ message }) => message);
  }

  /** Waits until the server ends the connection, and says how it did. Fails if it does not. */
  async closed(): Promise<Closing> {
    const deadline = performance.now() + this.#patienceMs;
    while (this.#closing === null) {
      if (!await this.#news(deadline)) throw new Broken("the server should end the connection: it does not");
    }
    return this.#closing;
  }

  /** Ends the connection, and waits for that. */
  async close(): Promise<void> {
    this.#socket.close();
    const deadline = performance.now() + this.#patienceMs;
    while (this.#closing === null && await this.#news(deadline));
  }

  #wake(): void {
    for (const wake of this.#waiters) wake();
    this.#waiters.clear();
  }

  /** False: the time was up first. */
  async #news(deadline: number): Promise<boolean> {
    const left = deadline - performance.now();
    if (left <= 0) return false;
    let late: ReturnType<typeof setTimeout> | undefined;
    await Promise.race([
      new Promise<void>((resolve) => this.#waiters.add(resolve)),
      new Promise<void>((resolve) => late = setTimeout(resolve, left)),
    ]);
    clearTimeout(late);
    return true;
  }
}
