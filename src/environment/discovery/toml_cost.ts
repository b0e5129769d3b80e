/**
 * What a TOML document costs before it is parsed: the library does that in one piece, and nobody else runs meanwhile.
 *
 * Every key, table and value needs one of a few characters outside of strings and comments. Only these are counted,
 * because only these take time: the library skips the rest. A text that is not TOML may be counted wrongly from its
 * first fault on, but there the library stops, too. Gives way to others, because every character is looked at.
 */

import { internalError } from "../../errors.ts";
import { MAX_TOML_DOTS, MAX_TOML_MARKS, MAX_TOML_NUMBER_LENGTH } from "../limits.ts";
import type { Pace } from "./answer_room.ts";

/** What a table holds for each mark. The most are 283: tables of different names, one mark each. */
export const BYTES_PER_MARK = 288;

/** Characters between two looks at the clock: half a slice also where nothing of this is compiled yet. */
const STEP = 2_048;

/** A character that makes a whole text take two bytes a character. */
const WIDE = /[\u0100-\uffff]/;

/**
 * The memory that the parsed document takes at most, its text included.
 *
 * @throws for a document that takes too long; `where` names it
 */
export async function measureToml(text: string, where: string, pace?: Pace): Promise<number> {
  const scan = new Scan(text, where);
  while (scan.step()) if (pace?.isOver) await pace.rest();
  const isWide = WIDE.test(text);
  // Strings are cut from the text and keep it. Keys and strings with escapes are copies, wide ones if an escape is.
  const copied = isWide || text.includes("\\") ? 2 : 1;
  return text.length * ((isWide ? 2 : 1) + copied) + scan.marks * BYTES_PER_MARK;
}

const QUOTE = 0x22;
const APOSTROPHE = 0x27;
const BACKSLASH = 0x5c;

class Scan {
  marks = 0;
  readonly #text: string;
  readonly #where: string;
  #at = 0;
  /** The character that ends the string here; 0 outside of strings. Only those in double quotes have escapes. */
  #quote = 0;
  #isTriple = false;
  #dots = 0;
  #digits = 0;

  constructor(text: string, where: string) {
    this.#text = text;
    this.#where = where;
  }

  /** False when all was looked at. */
  step(): boolean {
    const end = Math.min(this.#at + STEP, this.#text.length);
    while (this.#at < end) {
      if (this.#quote === 0) this.#readOutside(this.#text.charCodeAt(this.#at++));
      else this.#readString(end);
    }
    return this.#at < this.#text.length;
  }

  #readOutside(char: number): void {
    // Letters, too: numbers may be hexadecimal. No key or date has as many of them after a digit.
    if (isDigit(char) || (this.#digits > 0 && isInNumber(char))) {
      if (++this.#digits > MAX_TOML_NUMBER_LENGTH) {
        throw this.#refusal(`more than ${MAX_TOML_NUMBER_LENGTH} digits in a row`);
      }
      return;
    }
    this.#digits = 0;
    switch (char) {
      case QUOTE:
      case APOSTROPHE:
        this.#openString(char);
        break;
      case 0x23: // #
        this.#at = this.#text.indexOf("\n", this.#at);
        if (this.#at === -1) this.#at = this.#text.length;
        break;
      case 0x0a:
        this.#dots = 0;
        break;
      case 0x2e: // .
        if (++this.#dots > MAX_TOML_DOTS) throw this.#refusal(`a key with more than ${MAX_TOML_DOTS} dots`);
        this.#mark();
        break;
      case 0x2c: // ,
      case 0x3d: // =
      case 0x5b: // [
      case 0x7b: // {
        this.#dots = 0;
        this.#mark();
    }
  }

  #mark(): void {
    if (++this.marks > MAX_TOML_MARKS) {
      throw this.#refusal(`more than ${MAX_TOML_MARKS} commas, dots, equals signs and opening brackets`);
    }
  }

  /** The quote itself has been read. */
  #openString(quote: number): void {
    this.#quote = quote;
    this.#isTriple = this.#isNext(quote) && this.#text.charCodeAt(this.#at + 1) === quote;
    if (this.#isTriple) this.#at += 2;
  }

  #readString(end: number): void {
    const quote = this.#quote;
    while (this.#at < end) {
      const char = this.#text.charCodeAt(this.#at++);
      if (char === BACKSLASH && quote === QUOTE) this.#at++;
      else if (char === quote) {
        if (this.#isTriple) {
          if (!this.#isNext(quote) || this.#text.charCodeAt(this.#at + 1) !== quote) continue;
          // Up to two quotes of the content may stand before the three.
          this.#at += 2;
          for (let more = 0; more < 2 && this.#isNext(quote); more++) this.#at++;
        }
        this.#quote = 0;
        return;
      }
    }
  }

  #isNext(char: number): boolean {
    return this.#text.charCodeAt(this.#at) === char;
  }

  #refusal(reason: string): Error {
    return internalError(`${this.#where}: it has ${reason}`);
  }
}

function isDigit(char: number): boolean {
  return char >= 0x30 && char <= 0x39;
}

/** What may stand behind a number's first digit: underscores, the digits from a to f, and the x before these. */
function isInNumber(char: number): boolean {
  const lower = char | 0x20;
  return char === 0x5f || (lower >= 0x61 && lower <= 0x66) || lower === 0x78;
}
