/**
 * An executor that speaks JSON-RPC: each of its websockets serves one client, and is dropped when that client leaves,
 * because `initialize` may be sent only once on it. The executor then opens another.
 */

import { CLOSE_CODE } from "../../transport/websocket/websocket_frames.ts";
import type { Executor, Registration } from "./executor.ts";
import { FRESH_MS, MAX_IDLE_CONNECTIONS } from "./limits.ts";
import type { RunningSocket } from "./splice.ts";

export class PlainExecutor implements Executor {
  readonly kind = "plain";
  registration: Registration;
  readonly #onChange: () => void;
  /** Websockets without a client; the newest last. */
  readonly #idle: RunningSocket[] = [];
  readonly #taken = new Set<RunningSocket>();
  #connectedSince: Date | null = null;

  /** `onChange` is called when a websocket has come or gone. */
  constructor(registration: Registration, onChange: () => void) {
    this.registration = registration;
    this.#onChange = onChange;
  }

  get isConnected(): boolean {
    return this.#idle.length + this.#taken.size > 0;
  }

  get connectedSince(): Date | null {
    return this.#connectedSince;
  }

  get silentMs(): number | null {
    return this.isConnected ? Math.min(...this.#sockets().map(({ socket }) => socket.silentMs)) : null;
  }

  get clients(): number {
    return this.#taken.size;
  }

  /** Serves a websocket of the executor until it ends. */
  async serve(running: RunningSocket): Promise<void> {
    this.#connectedSince ??= new Date();
    this.#idle.push(running);
    // An executor that has come back has given up its earlier websockets, except those with a client.
    if (this.#idle.length > MAX_IDLE_CONNECTIONS) this.#idle[0]!.socket.close(CLOSE_CODE.normal, "too many are unused");
    this.#onChange();
    try {
      await running.ended;
    } finally {
      this.#forget(running);
    }
  }

  /** A websocket for a client: the newest, since older ones are more likely to be dead. Null when there is none. */
  take(): RunningSocket | null {
    for (let running = this.#idle.pop(); running !== undefined; running = this.#idle.pop()) {
      if (running.socket.isEnded) continue;
      this.#taken.add(running);
      return running;
    }
    return null;
  }

  /** Whether a websocket that was taken is alive. It is if it has just sent something. */
  static async isFresh({ socket }: RunningSocket, withinMs: number): Promise<boolean> {
    return socket.silentMs < FRESH_MS ? !socket.isEnded : await socket.isAlive(withinMs);
  }

  /** Gives back a websocket on which nothing was sent. */
  giveBack(running: RunningSocket): void {
    this.#taken.delete(running);
    if (running.socket.isEnded) return;
    this.#idle.push(running);
    this.#onChange();
  }

  async isAlive(withinMs: number): Promise<boolean> {
    const signs = await Promise.all(this.#sockets().map(({ socket }) => socket.isAlive(withinMs)));
    return signs.includes(true);
  }

  close(reason: string): void {
    for (const { socket } of this.#sockets()) socket.close(CLOSE_CODE.policyViolation, reason);
  }

  #sockets(): RunningSocket[] {
    return [...this.#idle, ...this.#taken];
  }

  #forget(running: RunningSocket): void {
    const index = this.#idle.indexOf(running);
    if (index >= 0) this.#idle.splice(index, 1);
    this.#taken.delete(running);
    if (!this.isConnected) this.#connectedSince = null;
    this.#onChange();
  }
}
