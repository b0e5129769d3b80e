/**
 * Connections that have not yet shown that they may be served: in TLS, in their request head, or refused and not gone.
 *
 * They have a limit of their own, so that they take no place from connections that are served. When the room is full, the
 * address with the most of them loses the one that has waited longest: a real client sends its request at once and is
 * through in milliseconds, however many idle sockets somebody else holds. The listener decides how long one may stay.
 */

export interface WaitingRoomOptions {
  readonly maxConnections: number;
}

interface Closable {
  close(): void;
}

export class WaitingRoom {
  readonly #maxConnections: number;
  /** The connections of each address, in the order in which they came. */
  readonly #byAddress = new Map<string, Set<Closable>>();
  #size = 0;

  constructor({ maxConnections }: WaitingRoomOptions) {
    this.#maxConnections = maxConnections;
  }

  get size(): number {
    return this.#size;
  }

  /** Lets a connection in, and another one out if there is no room for both. */
  enter(connection: Closable, address: string): void {
    const ofAddress = this.#byAddress.get(address) ?? new Set();
    this.#byAddress.set(address, ofAddress);
    ofAddress.add(connection);
    this.#size++;
    if (this.#size > this.#maxConnections) this.closeOne();
  }

  /** The connection was let in or has ended. May be called any number of times. */
  leave(connection: Closable, address: string): void {
    const ofAddress = this.#byAddress.get(address);
    if (ofAddress?.delete(connection) !== true) return;
    this.#size--;
    if (ofAddress.size === 0) this.#byAddress.delete(address);
  }

  /** Whether the connection still waits here. */
  holds(connection: Closable, address: string): boolean {
    return this.#byAddress.get(address)?.has(connection) ?? false;
  }

  /** Closes the connection that the rule above selects. False: there is none. */
  closeOne(): boolean {
    const [first] = this.#byAddress;
    if (first === undefined) return false;
    let [address, most] = first;
    for (const [other, connections] of this.#byAddress) {
      if (connections.size > most.size) [address, most] = [other, connections];
    }
    const [oldest] = most;
    this.leave(oldest!, address);
    oldest!.close();
    return true;
  }

  closeAll(): void {
    while (this.closeOne()) { /* The next one. */ }
  }
}
