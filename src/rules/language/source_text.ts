/** A file's text, with offsets turned into lines and columns. Columns count characters, not UTF-16 units. */

/** A part of the text: from offset `start` up to, but not including, `end`. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

export interface Position {
  /** Both begin at 1. */
  readonly line: number;
  readonly column: number;
}

/** Longer lines are cut around the place in question: an error is for people. */
const MAX_SHOWN_CHARS = 160;

export class SourceText {
  readonly file: string;
  readonly text: string;
  #lineStarts: number[] | null = null;

  constructor(file: string, text: string) {
    this.file = file;
    this.text = text;
  }

  position(offset: number): Position {
    const line = this.#lineOf(offset);
    const column = [...this.text.slice(this.#starts()[line - 1]!, offset)].length + 1;
    return { line, column };
  }

  offset({ line, column }: Position): number {
    const start = this.#starts()[line - 1]!;
    return start + [...this.text.slice(start, start + 2 * column)].slice(0, column - 1).join("").length;
  }

  line(number: number): string {
    const starts = this.#starts();
    const end = starts[number] ?? this.text.length + 1;
    return this.text.slice(starts[number - 1]!, end - 1).replace(/\r$/, "");
  }

  /** ` --> FILE:LINE:COLUMN`, the line itself and a mark below the span, as the reference shows them. */
  excerpt(span: Span): string {
    const { line, column } = this.position(span.start);
    const shown = [...this.line(line)];
    const begin = column > MAX_SHOWN_CHARS ? column - MAX_SHOWN_CHARS / 2 : 0;
    const text = shown.slice(begin, begin + MAX_SHOWN_CHARS).join("").replaceAll("\t", " ");
    const wanted = [...this.text.slice(span.start, Math.min(span.end, span.start + MAX_SHOWN_CHARS))];
    const newline = wanted.indexOf("\n");
    const length = Math.max(1, newline < 0 ? wanted.length : newline);
    const mark = " ".repeat(column - 1 - begin) + "^".repeat(Math.min(length, MAX_SHOWN_CHARS));
    const gutter = " ".repeat(String(line).length);
    return [
      `${gutter}--> ${this.file}:${line}:${column}`,
      `${gutter} |`,
      `${line} | ${text}`,
      `${gutter} | ${mark}`,
      `${gutter} |`,
    ].join("\n");
  }

  #lineOf(offset: number): number {
    const starts = this.#starts();
    let low = 0;
    let high = starts.length;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (starts[middle]! <= offset) low = middle;
      else high = middle;
    }
    return low + 1;
  }

  #starts(): number[] {
    if (this.#lineStarts === null) {
      this.#lineStarts = [0];
      for (let at = this.text.indexOf("\n"); at >= 0; at = this.text.indexOf("\n", at + 1)) {
        this.#lineStarts.push(at + 1);
      }
    }
    return this.#lineStarts;
  }
}
