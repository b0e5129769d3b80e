/**
 * A stream of lines that passes on whole lines, and no line that is longer than a bound. Such a line is dropped as it
 * comes, and told once. What comes after the last line end is not passed on.
 */

import { Buffer } from "node:buffer";
import { Transform } from "node:stream";

export interface BoundedLinesOptions {
  /** Of a line with its end. */
  readonly maxBytes: number;
  /** Called when a line has become too long, before its end has come. */
  readonly onTooLong: () => void;
  /** What is passed on in place of a line. If that is too long, the line itself is. */
  readonly repair?: (line: string) => string;
}

const LINE_END = 0x0a;

export class BoundedLines extends Transform {
  readonly #options: BoundedLinesOptions;
  /** What there is of the line whose end has not come. */
  #parts: Buffer[] = [];
  #bytes = 0;
  /** The rest of a line that is too long. */
  #isDropping = false;

  constructor(options: BoundedLinesOptions) {
    super();
    this.#options = options;
  }

  override _transform(chunk: Buffer, _encoding: string, done: () => void): void {
    for (let from = 0; from < chunk.length;) {
      const end = chunk.indexOf(LINE_END, from);
      const to = end < 0 ? chunk.length : end + 1;
      this.#take(chunk.subarray(from, to), end >= 0);
      from = to;
    }
    done();
  }

  #take(part: Buffer, isLast: boolean): void {
    if (this.#isDropping) {
      this.#isDropping = !isLast;
      return;
    }
    this.#bytes += part.length;
    if (this.#bytes > this.#options.maxBytes) {
      this.#forget();
      this.#isDropping = !isLast;
      return this.#options.onTooLong();
    }
    this.#parts.push(part);
    if (!isLast) return;
    this.push(this.#repaired(this.#parts.length === 1 ? part : Buffer.concat(this.#parts)));
    this.#forget();
  }

  #repaired(line: Buffer): Buffer {
    const { repair, maxBytes } = this.#options;
    if (repair === undefined) return line;
    const text = line.toString("utf8", 0, line.length - 1);
    const repaired = repair(text);
    if (repaired === text) return line;
    const bytes = Buffer.from(`${repaired}\n`);
    return bytes.length <= maxBytes ? bytes : line;
  }

  #forget(): void {
    this.#parts = [];
    this.#bytes = 0;
  }
}
