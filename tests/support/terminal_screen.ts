/** A terminal's screen without the terminal: bytes in, lines of text out, as a person would see them. */

import xterm from "@xterm/headless";

export interface ScreenSize {
  readonly rows: number;
  readonly cols: number;
}

export class TerminalScreen implements Disposable {
  readonly #terminal: InstanceType<typeof xterm.Terminal>;

  constructor(size: ScreenSize) {
    this.#terminal = new xterm.Terminal({ ...size, scrollback: 0, allowProposedApi: true });
  }

  /** Takes output; resolves when the screen shows it. */
  async feed(output: Uint8Array): Promise<void> {
    await new Promise<void>((resolve) => this.#terminal.write(output, resolve));
  }

  /** Calls back with what the terminal itself says, for example when a program asks what it can do. */
  onAnswer(listener: (text: string) => void): void {
    this.#terminal.onData(listener);
  }

  resize(size: ScreenSize): void {
    this.#terminal.resize(size.cols, size.rows);
  }

  /** The rows from the top to the last that is not empty, without trailing blanks. */
  get lines(): string[] {
    const { active } = this.#terminal.buffer;
    const lines = Array.from({ length: this.#terminal.rows }, (_, row) => {
      return active.getLine(active.baseY + row)?.translateToString().trimEnd() ?? "";
    });
    while (lines.at(-1) === "") lines.pop();
    return lines;
  }

  /** Counted from 0, in rows from the top and columns from the left. */
  get cursor(): { row: number; col: number } {
    const { cursorX, cursorY } = this.#terminal.buffer.active;
    return { row: cursorY, col: cursorX };
  }

  /** Whether a full-screen program has put its own screen over the other one. */
  get isAlternate(): boolean {
    return this.#terminal.buffer.active.type === "alternate";
  }

  [Symbol.dispose](): void {
    this.#terminal.dispose();
  }
}
