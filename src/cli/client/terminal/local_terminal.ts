/**
 * The terminal that this program was started on, while a remote program uses it.
 *
 * `enter` makes it raw. It is restored in every other case: `leave`, a signal, an uncaught error, and while the program
 * is stopped (`suspend`, or SIGTSTP from outside). Only SIGKILL leaves it raw.
 */

import { rawMode, setTerminalMode, terminalMode } from "../../../os/terminal_mode.ts";

export interface Size {
  readonly rows: number;
  readonly cols: number;
}

/** The size of a terminal that does not know its own. */
const DEFAULT_SIZE: Size = { rows: 24, cols: 80 };
const STDIN = 0;

/**
 * Switches everything off that a remote program may have switched on: the second screen, the mouse in all its forms,
 * reports of the focus, paste brackets, other codes for keys, lines that do not scroll, insertion, colours, and another
 * or a hidden cursor.
 */
export const CALM = "\x1b[?1049l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1005l\x1b[?1006l\x1b[?1015l\x1b[?1016l" +
  "\x1b[?1004l\x1b[?2004l\x1b[?1l\x1b>\x1b[?6l\x1b[r\x1b[4l\x1b[?7h\x1b[0 q\x1b[?25h\x1b[m";

export class LocalTerminal {
  readonly #original = terminalMode(STDIN);
  readonly #raw = this.#original === null ? null : rawMode(this.#original);
  #isRaw = false;
  #onResumed: () => void = () => {};

  /** Null: standard input is not a terminal. */
  static ofStdin(): LocalTerminal | null {
    return Deno.stdin.isTerminal() ? new LocalTerminal() : null;
  }

  get size(): Size {
    return terminalSize();
  }

  /** From now on every key comes as it is. `onResumed` is called when the program goes on after a stop. */
  enter({ onResumed }: { readonly onResumed: () => void }): void {
    this.#onResumed = onResumed;
    this.#setRaw();
    globalThis.addEventListener("unload", this.#restore);
    globalThis.addEventListener("error", this.#restore);
    globalThis.addEventListener("unhandledrejection", this.#restore);
    Deno.addSignalListener("SIGTSTP", this.#stop);
    Deno.addSignalListener("SIGCONT", this.#resume);
  }

  /** Restores the terminal. Idempotent. */
  leave(): void {
    this.#restore();
    globalThis.removeEventListener("unload", this.#restore);
    globalThis.removeEventListener("error", this.#restore);
    globalThis.removeEventListener("unhandledrejection", this.#restore);
    Deno.removeSignalListener("SIGTSTP", this.#stop);
    Deno.removeSignalListener("SIGCONT", this.#resume);
  }

  /** Stops this program until the shell continues it. */
  suspend(): void {
    this.#stop();
  }

  #setRaw(): void {
    if (this.#raw !== null) this.#isRaw = setTerminalMode(STDIN, this.#raw);
  }

  readonly #restore = (): void => {
    if (!this.#isRaw || this.#original === null) return;
    this.#isRaw = false;
    setTerminalMode(STDIN, this.#original);
  };

  readonly #stop = (): void => {
    this.#restore();
    // The whole job: a shell continues all of it.
    Deno.kill(Deno.pid, "SIGSTOP");
  };

  readonly #resume = (): void => {
    if (this.#isRaw) return;
    this.#setRaw();
    this.#onResumed();
  };
}

/** The size of the terminal at standard output, or else at standard input. */
function terminalSize(): Size {
  try {
    const { rows, columns } = Deno.consoleSize();
    return rows > 0 && columns > 0 ? { rows, cols: columns } : DEFAULT_SIZE;
  } catch {
    return DEFAULT_SIZE; // Neither is a terminal.
  }
}
