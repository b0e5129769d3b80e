/** A way into a server of the same program, without any socket: links joined in memory, made when somebody connects. */

import type { OpenOptions, Transport } from "../client/link/transport.ts";
import type { Link } from "../rpc/link.ts";
import type { LinkSource, ServeLink } from "../transport/link_source.ts";
import { MemoryLink } from "../transport/memory_link.ts";

/** Both ends: a source of links for the server, and the transport by which a client gets one. */
export class MemorySource implements LinkSource, Transport {
  readonly url = "memory:";
  readonly name = "this program";
  /** The server is gone only when this program is. */
  readonly canReconnect = true;
  readonly #lives = new Set<Promise<void>>();
  readonly #links = new Set<MemoryLink>();
  readonly #closed = Promise.withResolvers<void>();
  #serve: ServeLink | null = null;
  #count = 0;

  /** See {@linkcode LinkSource.run}. */
  run(onLink: ServeLink): Promise<void> {
    this.#serve = onLink;
    return this.#closed.promise;
  }

  /** See {@linkcode LinkSource.close}. */
  close(): void {
    this.#serve = null;
    this.#closed.resolve();
  }

  /** See {@linkcode LinkSource.dropAll}. */
  async dropAll(): Promise<void> {
    for (const link of this.#links) link.close();
    await Promise.all(this.#lives);
  }

  /** See {@linkcode Transport.open}. */
  open({ signal }: OpenOptions): Promise<Link> {
    signal.throwIfAborted();
    const serve = this.#serve;
    if (serve === null) return Promise.reject(new Error("the backend is closed"));
    const [near, far] = MemoryLink.pair();
    this.#links.add(far);
    const life: Promise<void> = serve(far, { id: ++this.#count, remote: "memory", requestId: null }).finally(() => {
      this.#lives.delete(life);
      this.#links.delete(far);
    });
    this.#lives.add(life);
    return Promise.resolve(near);
  }
}
