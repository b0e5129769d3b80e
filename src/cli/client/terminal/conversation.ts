/**
 * Keys and screen between the local terminal and a remote process, for `exec -t`, `shell` and `attach`.
 *
 * Keys are always read, whatever the remote side does, so that `~.` always works. Keys that the process does not read
 * are dropped with a bell, as terminal drivers do. Signals that end this program restore the terminal first.
 */

import { writeFully } from "../../../bytes.ts";
import type { Devbox } from "../../../client/devbox.ts";
import { ClientError } from "../../../client/errors.ts";
import { printable } from "../../../printable.ts";
import { SIGNAL_BASE } from "../exit_codes.ts";
import { ESCAPE_HELP, EscapeKeys, type Wish } from "./escape_keys.ts";
import { CALM, LocalTerminal, type Size } from "./local_terminal.ts";

/** The far end of a conversation. */
export interface FarEnd {
  /** Sends keys in order. Resolves when the server has accepted them. Null: a viewer, which sends no keys. */
  readonly send: ((bytes: Uint8Array<ArrayBuffer>) => Promise<void>) | null;
  /** Called when the input has ended; only without a local terminal. */
  readonly endInput: () => Promise<void>;
  /** Called when the local terminal has changed its size. */
  readonly resize: (size: Size) => Promise<void>;
  /** Text that draws the screen over anything that is there. */
  readonly redraw: () => Promise<void>;
}

/** How a conversation ended before the process did: the user left, or a signal came. */
export type Departure = { readonly type: "left" } | { readonly type: "signal"; readonly exitCode: number };

/**
 * How many bytes of keys may be under way. If there are more, the process does not read, and nobody has typed them by
 * hand.
 */
const MAX_KEYS_UNDER_WAY = 1024 * 1024;
const READ_BYTES = 64 * 1024;
const BELL = Uint8Array.of(0x07);
const ENDING = { SIGHUP: 1, SIGINT: 2, SIGQUIT: 3, SIGTERM: 15 } as const;
const encoder = new TextEncoder();

export class Conversation {
  readonly terminal: LocalTerminal | null = LocalTerminal.ofStdin();
  readonly #departure = Promise.withResolvers<Departure>();
  #far: FarEnd | null = null;
  #keysUnderWay = 0;
  #isLost = false;
  #isOver = false;
  /** The latest write to the screen. Writes are done one after the other. */
  #shown: Promise<void> = Promise.resolve();

  /** The size of the local terminal, or the usual one if there is none. */
  get size(): Size {
    return this.terminal?.size ?? { rows: 24, cols: 80 };
  }

  /** Resolves when the user leaves, or a signal ends this program. */
  get departed(): Promise<Departure> {
    return this.#departure.promise;
  }

  /** Sets the terminal up. `finish` restores it. */
  begin(box: Devbox, far: FarEnd): void {
    this.#far = far;
    for (const [signal, number] of Object.entries(ENDING) as [keyof typeof ENDING, number][]) {
      Deno.addSignalListener(signal, () => {
        this.#departure.resolve({ type: "signal", exitCode: SIGNAL_BASE + number });
      });
    }
    Deno.addSignalListener("SIGWINCH", () => this.#sendSize());
    this.terminal?.enter({ onResumed: () => void this.#redraw() });
    box.onConnectionChange((state) => {
      if (state.state === "reconnecting" && !this.#isLost) {
        this.#isLost = true;
        this.#tell(`connection lost, trying again; ~. gives up (${printable(state.reason)})`);
      } else if (state.state === "connected" && this.#isLost) {
        this.#isLost = false;
        void this.#redraw();
      }
    });
    if (this.terminal === null) this.#sendStream().catch(() => {});
    else this.#readKeys().catch(() => this.#departure.resolve({ type: "left" }));
  }

  finish(): void {
    this.terminal?.leave();
  }

  /** The user has left: prints this line below the screen, and then shows nothing more. */
  async depart(message: string): Promise<void> {
    const below = `${CALM}\x1b[${this.size.rows};1H`;
    const shown = this.terminal !== null && Deno.stdout.isTerminal() ? this.show(encoder.encode(below)) : this.#shown;
    this.#isOver = true;
    // It fails if nobody reads the terminal any more, and then the line is not needed.
    await shown.catch(() => {});
    this.finish();
    console.error(`${this.terminal === null ? "" : "\n"}exec-server: ${message}`);
  }

  /** Writes to the local terminal, after everything before. Rejects if nobody reads any more. */
  show(bytes: Uint8Array): Promise<void> {
    if (this.#isOver) return Promise.resolve();
    const shown = this.#shown.then(async () => {
      await writeFully(Deno.stdout, bytes);
    });
    this.#shown = shown.catch(() => {});
    return shown;
  }

  /** The same for text that is still being made. Later writes wait for it. */
  showLater(made: Promise<Uint8Array>): void {
    const before = this.#shown;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#shown = promise;
    const write = async () => {
      await before;
      const bytes = await made;
      await writeFully(Deno.stdout, bytes);
    };
    // Nobody reads any more. The next `show` reports it.
    write().catch(() => {}).finally(resolve);
  }

  // ---------------------------------------------------------------- keys

  async #readKeys(): Promise<void> {
    const escapes = new EscapeKeys();
    const buffer = new Uint8Array(READ_BYTES);
    for (;;) {
      const count = await Deno.stdin.read(buffer);
      // The terminal is gone.
      if (count === null) return this.#departure.resolve({ type: "left" });
      const { bytes, wishes } = escapes.feed(buffer.subarray(0, count));
      if (bytes.length > 0) this.#send(bytes);
      for (const wish of wishes) this.#grant(wish);
    }
  }

  #send(bytes: Uint8Array<ArrayBuffer>): void {
    const send = this.#far?.send ?? null;
    if (send === null) return;
    if (this.#keysUnderWay + bytes.length > MAX_KEYS_UNDER_WAY) return void this.show(BELL).catch(() => {});
    this.#keysUnderWay += bytes.length;
    // The process or the connection has ended. Both are reported where the output is awaited.
    send(bytes).catch(() => {}).finally(() => this.#keysUnderWay -= bytes.length);
  }

  #grant(wish: Wish): void {
    switch (wish) {
      case "leave":
        return this.#departure.resolve({ type: "left" });
      case "suspend":
        return this.terminal?.suspend();
      case "help":
        void this.show(encoder.encode(`\r\n${ESCAPE_HELP.join("\r\n")}\r\n`)).catch(() => {});
    }
  }

  /** Without a local terminal the input is a stream with an end. */
  async #sendStream(): Promise<void> {
    const { send, endInput } = this.#far!;
    if (send === null) return;
    try {
      for await (const bytes of Deno.stdin.readable) await send(bytes);
      await endInput();
    } catch (error) {
      // It is not an error if the process ends before it has read all its input.
      if (!(error instanceof ClientError)) throw error;
    }
  }

  // ---------------------------------------------------------------- screen

  #sendSize(): void {
    // It has ended meanwhile, and needs no size.
    if (this.terminal !== null) this.#far?.resize(this.terminal.size).catch(() => {});
  }

  /** One line at the bottom, which `redraw` removes. Without a terminal: a line on standard error. */
  #tell(text: string): void {
    if (this.terminal === null || !Deno.stdout.isTerminal()) return console.error(`exec-server: ${text}`);
    const { rows, cols } = this.terminal.size;
    const line = `exec-server: ${text}`.slice(0, cols - 1);
    void this.show(encoder.encode(`\x1b7\x1b[${rows};1H\x1b[0;7m${line}\x1b[m\x1b[K\x1b8`)).catch(() => {});
  }

  async #redraw(): Promise<void> {
    this.#sendSize();
    // The process has ended meanwhile, or the connection is lost again. Both are reported elsewhere.
    if (this.terminal !== null) await this.#far?.redraw().catch(() => {});
  }
}
