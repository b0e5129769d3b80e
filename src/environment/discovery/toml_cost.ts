/**
 * What a TOML document costs before it is parsed: the library does that in one piece, and nobody else runs meanwhile.
 *
 * Every key, table and value needs one of a few characters outside of strings and comments. Only these are counted,
 * because only these take time: the library skips the rest. A text that is not TOML may be counted wrongly from its
 * first fault on, but there the library stops, too. Pure.
 */

import { internalError } from "../../errors.ts";
import { MAX_TOML_DOTS, MAX_TOML_MARKS, MAX_TOML_NUMBER_LENGTH } from "../limits.ts";

/** What a table holds for each mark, at most some 170 bytes. */
const BYTES_PER_MARK = 192;

/**
 * The memory that the parsed document takes. Strings keep the text they were cut from.
 *
 * @throws for a document that takes too long; `where` names it
 */
export function measureToml(text: string, where: string): number {
  const refusal = (reason: string) => internalError(`${where}: it has ${reason}`);
  let marks = 0;
  let dots = 0;
  for (let at = 0; at < text.length; at++) {
    const char = text.charCodeAt(at);
    switch (char) {
      case 0x22: // "
      case 0x27: // '
        at = endOfString(text, at, char);
        break;
      case 0x23: // #
        at = endOfLine(text, at);
        dots = 0;
        break;
      case 0x0a:
        dots = 0;
        break;
      case 0x2e: // .
        if (++dots > MAX_TOML_DOTS) throw refusal(`a key of more than ${MAX_TOML_DOTS} parts`);
        marks++;
        break;
      case 0x2c: // ,
      case 0x3d: // =
      case 0x5b: // [
      case 0x7b: // {
        marks++;
        dots = 0;
        break;
      default:
        if (isDigit(char)) {
          const end = endOfDigits(text, at);
          if (end - at > MAX_TOML_NUMBER_LENGTH) throw refusal(`more than ${MAX_TOML_NUMBER_LENGTH} digits in a row`);
          at = end - 1;
        }
    }
    if (marks > MAX_TOML_MARKS) throw refusal(`more than ${MAX_TOML_MARKS} keys, tables and values`);
  }
  return text.length + marks * BYTES_PER_MARK;
}

function endOfLine(text: string, at: number): number {
  const end = text.indexOf("\n", at);
  return end === -1 ? text.length : end;
}

function isDigit(char: number): boolean {
  return char >= 0x30 && char <= 0x39;
}

/** Underscores may stand between digits. */
function endOfDigits(text: string, at: number): number {
  while (isDigit(text.charCodeAt(at)) || text.charCodeAt(at) === 0x5f) at++;
  return at;
}

const BACKSLASH = 0x5c;

/** The last quote of the string that begins here. Only texts in double quotes have escapes. */
function endOfString(text: string, open: number, quote: number): number {
  const isTriple = text.charCodeAt(open + 1) === quote && text.charCodeAt(open + 2) === quote;
  for (let at = open + (isTriple ? 3 : 1); at < text.length; at++) {
    const char = text.charCodeAt(at);
    if (char === BACKSLASH && quote === 0x22) at++;
    else if (char === quote) {
      if (!isTriple) return at;
      if (text.charCodeAt(at + 1) !== quote || text.charCodeAt(at + 2) !== quote) continue;
      // Up to two quotes of the content may stand before the three.
      at += 2;
      for (let more = 0; more < 2 && text.charCodeAt(at + 1) === quote; more++) at++;
      return at;
    }
  }
  return text.length;
}
