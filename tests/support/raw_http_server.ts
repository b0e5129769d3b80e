/**
 * A web server that shows the bytes it was sent and answers with the bytes it is told: nothing between the test and the
 * wire. One connection at a time per request; nothing is kept alive.
 */

export interface RawRequest {
  /** Request line and headers, as received. */
  readonly head: string;
  readonly path: string;
  readonly body: string;
}

/** What the server does with a request. Closing the connection is the server's part. */
export type RawAnswer = (connection: RawConnection, request: RawRequest) => Promise<void> | void;

export class RawConnection {
  readonly #conn: Deno.Conn;

  constructor(conn: Deno.Conn) {
    this.#conn = conn;
  }

  async send(bytes: string | Uint8Array): Promise<void> {
    const raw = typeof bytes === "string" ? new TextEncoder().encode(bytes) : bytes;
    for (let at = 0; at < raw.length;) at += await this.#conn.write(raw.subarray(at));
  }

  /** Hands bytes both ways until one side has had enough. */
  async relayTo(address: { hostname: string; port: number }): Promise<void> {
    const other = await Deno.connect(address);
    const forth = this.#conn.readable.pipeTo(other.writable, { preventClose: true });
    const back = other.readable.pipeTo(this.#conn.writable, { preventClose: true });
    await Promise.race([forth, back].map((way) => way.catch(() => {})));
    closeQuietly(this.#conn);
    closeQuietly(other);
    await Promise.allSettled([forth, back]);
  }

  /** Resolves when the client has closed its side, or is gone. */
  async ended(): Promise<void> {
    const buffer = new Uint8Array(1024);
    try {
      while (await this.#conn.read(buffer) !== null);
    } catch {
      // A reset is an end, too.
    }
  }
}

export class RawHttpServer implements AsyncDisposable {
  readonly requests: RawRequest[] = [];
  readonly port: number;
  readonly #listener: Deno.Listener;
  readonly #answer: RawAnswer;
  readonly #connections = new Set<Deno.Conn>();
  readonly #running: Promise<void>;
  readonly #serving = new Set<Promise<void>>();

  constructor(answer: RawAnswer, listener: Deno.Listener = Deno.listen({ hostname: "127.0.0.1", port: 0 })) {
    this.#answer = answer;
    this.#listener = listener;
    this.port = (listener.addr as Deno.NetAddr).port;
    this.#running = this.#run();
  }

  get origin(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  get heads(): string[] {
    return this.requests.map(({ head }) => head);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#listener.close();
    for (const conn of this.#connections) closeQuietly(conn);
    await this.#running;
    await Promise.all(this.#serving);
  }

  async #run(): Promise<void> {
    for (;;) {
      let conn: Deno.Conn;
      try {
        conn = await this.#listener.accept();
      } catch (error) {
        // A client that refuses our certificate makes one accept fail; a closed listener ends the loop.
        if (error instanceof Deno.errors.BadResource || error instanceof Deno.errors.Interrupted) return;
        continue;
      }
      this.#connections.add(conn);
      const serving = this.#serve(conn).finally(() => {
        closeQuietly(conn);
        this.#connections.delete(conn);
        this.#serving.delete(serving);
      });
      this.#serving.add(serving);
    }
  }

  async #serve(conn: Deno.Conn): Promise<void> {
    try {
      const request = await readRequest(conn);
      if (request === null) return;
      this.requests.push(request);
      await this.#answer(new RawConnection(conn), request);
    } catch {
      // The client went away in the middle, as some tests want it to.
    }
  }
}

async function readRequest(conn: Deno.Conn): Promise<RawRequest | null> {
  const buffer = new Uint8Array(64 * 1024);
  let text = "";
  const more = async (): Promise<boolean> => {
    const count = await conn.read(buffer);
    if (count !== null) text += new TextDecoder("latin1").decode(buffer.subarray(0, count));
    return count !== null;
  };
  while (!text.includes("\r\n\r\n")) if (!await more()) return null;
  const headEnd = text.indexOf("\r\n\r\n");
  const head = text.slice(0, headEnd);
  const length = Number(/^content-length: (\d+)$/m.exec(head.replaceAll("\r", ""))?.[1] ?? 0);
  while (text.length < headEnd + 4 + length) if (!await more()) return null;
  return { head, path: head.split(" ")[1] ?? "", body: text.slice(headEnd + 4, headEnd + 4 + length) };
}

function closeQuietly(conn: Deno.Conn): void {
  try {
    conn.close();
  } catch {
    // Closed already.
  }
}

/** A complete response with a body of known length. */
export function response(body: string, status = "200 OK", ...headers: string[]): string {
  return [`HTTP/1.1 ${status}`, ...headers, `Content-Length: ${body.length}`, "", body].join("\r\n");
}
