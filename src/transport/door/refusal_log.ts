/**
 * Logs who was refused at the door, and why, without letting strangers fill the log.
 *
 * Time is cut into windows that begin with a refusal. In each window the first few logins refused to an address get a
 * line of their own, and as many of its other requests; the others are counted and reported in one line at its end.
 * Everything remembered is forgotten with its window.
 */

import type { Clock } from "../../clock.ts";
import type { Logger } from "../../log.ts";

/** Long enough that guessing tokens causes few lines, short enough to be reported while it goes on. */
const WINDOW_MS = 60_000;
/**
 * A client with a wrong token tries a few times, and more lines would say nothing new. A page that is refused for its
 * origin is something new, and all clients of this machine have the same address, so each status is counted by itself.
 */
const MAX_LINES_PER_ADDRESS = 3;
/** Enough for ten addresses: a peer with more addresses than that gets no more lines. */
const MAX_LINES = 30;
/** Addresses told apart in one window, some 20 KiB. Refusals of further ones are counted together. */
const MAX_ADDRESSES = 256;

export interface Refusal {
  /** Address and port, or `unix`. */
  readonly remote: string;
  readonly status: number;
  readonly reason: string;
}

export class RefusalLog {
  readonly #log: Logger;
  readonly #clock: Clock;
  /** How many refusals each address has in this window. */
  readonly #counts = new Map<string, number>();
  /** How many lines of this window each address and status has. No more entries than lines. */
  readonly #told = new Map<string, number>();
  #lines = 0;
  #untold = 0;
  #cancelWindow: (() => void) | null = null;

  constructor(options: { log: Logger; clock: Clock }) {
    this.#log = options.log;
    this.#clock = options.clock;
  }

  add({ remote, status, reason }: Refusal): void {
    this.#cancelWindow ??= this.#clock.setTimer(WINDOW_MS, () => this.close());
    const address = withoutPort(remote);
    const earlier = this.#counts.get(address) ?? 0;
    if (earlier > 0 || this.#counts.size < MAX_ADDRESSES) this.#counts.set(address, earlier + 1);
    const kind = `${address} ${status}`;
    const told = this.#told.get(kind) ?? 0;
    if (told >= MAX_LINES_PER_ADDRESS || this.#lines >= MAX_LINES) {
      this.#untold++;
      return;
    }
    this.#told.set(kind, told + 1);
    this.#lines++;
    this.#log.warn(status === 401 ? "login refused" : "request refused", { remote, status, reason });
  }

  /** Ends the window: reports what was only counted. */
  close(): void {
    this.#cancelWindow?.();
    this.#cancelWindow = null;
    if (this.#untold > 0) {
      const [mostFrom, most] = [...this.#counts].reduce((a, b) => b[1] > a[1] ? b : a);
      const addresses = this.#counts.size === MAX_ADDRESSES ? `${MAX_ADDRESSES} or more` : this.#counts.size;
      this.#log.warn("more logins and requests refused", { count: this.#untold, addresses, mostFrom, most });
    }
    this.#counts.clear();
    this.#told.clear();
    this.#lines = 0;
    this.#untold = 0;
  }
}

/** Only the address: every connection of a peer has another port. */
export function withoutPort(remote: string): string {
  return remote.replace(/:\d+$/, "");
}
