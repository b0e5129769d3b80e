/**
 * Modes of a terminal that the serializer of the screen leaves out: the form of mouse reports, which lines scroll, the
 * shape of the cursor and whether it is visible. Without these an attached program would get clicks in another form
 * than it expects, and would scroll lines that should stay.
 */

import type { Terminal } from "@xterm/headless";

/** Forms in which clicks are written: UTF-8, SGR, urxvt, SGR by pixels. */
const MOUSE_FORMS: ReadonlySet<number> = new Set([1005, 1006, 1015, 1016]);
const CURSOR_SEEN = 25;
const ORIGIN = 6;

type Words = readonly (number | number[])[];
type FunctionId = Parameters<Terminal["parser"]["registerCsiHandler"]>[0];
interface Region {
  readonly top: number;
  readonly bottom: number;
}

/** Listens to a terminal from its first byte on. */
export class ScreenModes {
  readonly #terminal: Terminal;
  readonly #mouseForms = new Set<number>();
  /** The scrolling lines of each of the two screens. Counted from 1. */
  readonly #regions = new Map<string, Region>();
  #isCursorSeen = true;
  #hasOrigin = false;
  #shape = 0;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
    const { parser } = terminal;
    // False: the terminal's own handler comes next.
    const listen = (id: FunctionId, note: (words: Words) => void) => {
      parser.registerCsiHandler(id, (words) => (note(words), false));
    };
    listen({ prefix: "?", final: "h" }, (modes) => this.#switch(modes, true));
    listen({ prefix: "?", final: "l" }, (modes) => this.#switch(modes, false));
    listen({ final: "r" }, ([top, bottom]) => this.#limit(Number(top ?? 0) || 1, Number(bottom ?? 0)));
    listen({ intermediates: " ", final: "q" }, ([shape]) => this.#shape = Number(shape ?? 0));
    listen({ intermediates: "!", final: "p" }, () => this.#reset());
    parser.registerEscHandler({ final: "c" }, () => (this.#reset(), false));
  }

  /** Sequences that set the same modes on another terminal, after the screen was drawn there. */
  text(): string {
    const { cursorX, cursorY } = this.#active;
    const region = this.#regions.get(this.#active.type);
    const row = cursorY + 1 - (this.#hasOrigin && region !== undefined ? region.top - 1 : 0);
    return [
      ...[...this.#mouseForms].map((form) => `\x1b[?${form}h`),
      this.#shape === 0 ? "" : `\x1b[${this.#shape} q`,
      // Limiting the scrolling moves the cursor to the first line.
      region === undefined ? "" : `\x1b[${region.top};${region.bottom}r\x1b[${row};${cursorX + 1}H`,
      this.#isCursorSeen ? "" : "\x1b[?25l",
    ].join("");
  }

  get #active(): Terminal["buffer"]["active"] {
    return this.#terminal.buffer.active;
  }

  #switch(modes: Words, isOn: boolean): void {
    for (const mode of modes.flat()) {
      if (mode === CURSOR_SEEN) this.#isCursorSeen = isOn;
      else if (mode === ORIGIN) this.#hasOrigin = isOn;
      else if (!MOUSE_FORMS.has(mode)) continue;
      else if (isOn) this.#mouseForms.add(mode);
      else this.#mouseForms.delete(mode);
    }
  }

  #limit(top: number, given: number): void {
    const { rows } = this.#terminal;
    const bottom = given === 0 || given > rows ? rows : given;
    if (top >= bottom) return; // As terminals do.
    if (top === 1 && bottom === rows) this.#regions.delete(this.#active.type);
    else this.#regions.set(this.#active.type, { top, bottom });
  }

  #reset(): void {
    this.#mouseForms.clear();
    this.#regions.clear();
    this.#isCursorSeen = true;
    this.#hasOrigin = false;
    this.#shape = 0;
  }
}
