/** Passes connections on to a port of this machine, byte by byte, until they are cut. */

import { AcceptingRelay, closeQuietly, copyBytes } from "./accepting_relay.ts";

export class Relay extends AcceptingRelay {
  readonly #open = new Set<Deno.Conn>();
  #isOver = false;

  /** Ends all that are open, without a word. New ones are passed on. */
  cut(): void {
    for (const conn of this.#open) closeQuietly(conn);
    this.#open.clear();
  }

  protected override endAll(): void {
    this.#isOver = true;
    this.cut();
  }

  protected override async pass(near: Deno.Conn, far: Deno.Conn): Promise<void> {
    this.#open.add(near).add(far);
    if (this.#isOver) this.cut();
    await Promise.all([
      this.#copy(near, far, (bytes) => this.onBytes(near, "client", bytes)),
      this.#copy(far, near, (bytes) => this.onBytes(near, "server", bytes)),
    ]);
    for (const conn of [near, far]) {
      closeQuietly(conn);
      this.#open.delete(conn);
    }
  }

  /** Told what passes, before it does. `connection` is the same object for all bytes of one. */
  protected onBytes(_connection: object, _from: "client" | "server", _bytes: Uint8Array<ArrayBuffer>): void {}

  async #copy(from: Deno.Conn, to: Deno.Conn, onBytes: (bytes: Uint8Array<ArrayBuffer>) => void): Promise<void> {
    try {
      await copyBytes(from, to, onBytes);
    } catch {
      // Cut, or one of the sides has gone: the other one goes, too.
      closeQuietly(to);
    }
  }
}
