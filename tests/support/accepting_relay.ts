/**
 * Accepts connections on a port of its own and opens one to a target port of this machine for each. What passes between
 * the two, and what cuts them, is the subclass's.
 */

export abstract class AcceptingRelay implements AsyncDisposable {
  readonly #listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  readonly #targetPort: number;
  readonly #running: Promise<void>;
  #connections = 0;

  constructor(targetPort: number) {
    this.#targetPort = targetPort;
    this.#running = this.#acceptAll();
  }

  get port(): number {
    return this.#listener.addr.port;
  }

  /** How many there have been. */
  get connections(): number {
    return this.#connections;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#listener.close();
    this.endAll();
    await this.#running;
  }

  /** Passes bytes on in both directions until both are done. Closes both connections. */
  protected abstract pass(near: Deno.Conn, far: Deno.Conn): Promise<void>;

  /** Ends every connection that `pass` has not ended yet, and those it is given later. */
  protected abstract endAll(): void;

  async #acceptAll(): Promise<void> {
    const lives: Promise<void>[] = [];
    try {
      for await (const near of this.#listener) lives.push(this.#serve(near));
    } catch {
      // Closed while it waited.
    }
    await Promise.all(lives);
  }

  async #serve(near: Deno.Conn): Promise<void> {
    this.#connections++;
    let far: Deno.Conn;
    try {
      far = await Deno.connect({ hostname: "127.0.0.1", port: this.#targetPort });
    } catch {
      near.close();
      return;
    }
    await this.pass(near, far);
  }
}

/** Copies until the end of `from`, hands that end on, and returns. Throws when either side is gone. */
export async function copyBytes(
  from: Deno.Conn,
  to: Deno.Conn,
  onBytes: (bytes: Uint8Array<ArrayBuffer>) => void = () => {},
): Promise<void> {
  const buffer = new Uint8Array(64 * 1024);
  for (;;) {
    const count = await from.read(buffer);
    if (count === null) break;
    onBytes(buffer.subarray(0, count));
    await writeAll(to, buffer.subarray(0, count));
  }
  await to.closeWrite();
}

export async function writeAll(to: Deno.Conn, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length;) at += await to.write(bytes.subarray(at));
}

export function closeQuietly(conn: Deno.Conn): void {
  try {
    conn.close();
  } catch {
    // Closed already.
  }
}
