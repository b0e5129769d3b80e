/** A unix socket that leads to another one, until it is cut. */

export class UnixRelay implements AsyncDisposable {
  readonly path: string;
  readonly #target: string;
  #listener: Deno.UnixListener | null = null;
  readonly #open = new Set<Deno.UnixConn>();

  private constructor(path: string, target: string) {
    this.path = path;
    this.#target = target;
  }

  static start(path: string, target: string): UnixRelay {
    const relay = new UnixRelay(path, target);
    relay.mend();
    return relay;
  }

  /** Connections pass from now on. */
  mend(): void {
    const listener = this.#listener = Deno.listen({ transport: "unix", path: this.path });
    (async () => {
      for await (const near of listener) await this.#join(near).catch(() => near.close());
    })().catch(() => {});
  }

  /** Ends all connections and lets none in. */
  cut(): void {
    this.#listener?.close();
    this.#listener = null;
    Deno.removeSync(this.path);
    for (const connection of this.#open) close(connection);
    this.#open.clear();
  }

  async #join(near: Deno.UnixConn): Promise<void> {
    const far = await Deno.connect({ transport: "unix", path: this.#target });
    for (const connection of [near, far]) this.#open.add(connection);
    const end = () => {
      close(near);
      close(far);
    };
    near.readable.pipeTo(far.writable).then(end, end);
    far.readable.pipeTo(near.writable).then(end, end);
  }

  [Symbol.asyncDispose](): Promise<void> {
    if (this.#listener !== null) this.cut();
    return Promise.resolve();
  }
}

function close(connection: Deno.UnixConn): void {
  try {
    connection.close();
  } catch {
    // Closed already.
  }
}
