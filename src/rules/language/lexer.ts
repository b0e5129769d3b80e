/**
 * Text -> tokens: words, symbols, literals, and the new lines and indentation that make statements and blocks.
 *
 * Tabs are refused outside of strings and comments, as the reference does: a file must not mean something else to a
 * reader who has set them to another width. One pass, no backtracking beyond a literal.
 */

import { MAX_INTEGER_BITS, MAX_NESTING } from "../limits.ts";
import { Failure } from "./failure.ts";
import { readString } from "./string_literal.ts";
import { type FStringPart, KEYWORDS, RESERVED, SYMBOLS, type Token } from "./tokens.ts";

const NAME = /[A-Za-z_][A-Za-z0-9_]*/y;
const FLOAT = /(?:[0-9]+\.[0-9]*(?:[eE][-+]?[0-9]+)?|[0-9]+[eE][-+]?[0-9]+|\.[0-9]+(?:[eE][-+]?[0-9]+)?)/y;
const INTEGER = /0[xX][0-9A-Fa-f]+|0[bB][01]+|0[oO][0-7]+|[0-9]+/y;
const STRING_START = /(?:fr|f|rb|br|r|b)?(?:"""|'''|"|')/y;
/** Four bits each are the most that a digit can stand for. */
const MAX_INTEGER_DIGITS = MAX_INTEGER_BITS / 4;

/**
 * The tokens of a file. If the text has a fault, that is the last token, so that errors before it are reported first.
 */
export function tokenize(text: string): Token[] {
  return new Lexer(text).file();
}

class Lexer {
  readonly #text: string;
  readonly #indents: number[] = [0];
  #at = 0;
  /** Open brackets: new lines within them mean nothing. */
  #brackets = 0;
  #fstrings = 0;

  constructor(text: string) {
    this.#text = text;
  }

  file(): Token[] {
    const tokens: Token[] = [];
    try {
      this.#indentation(tokens);
      while (this.#at < this.#text.length) this.#next(tokens);
    } catch (fault) {
      if (!(fault instanceof Failure)) throw fault;
      return [...tokens, { ...this.#token("end", this.#at, ""), fault }];
    }
    tokens.push(this.#token("newline", this.#at, "\n"));
    for (let level = this.#indents.length; level > 1; level--) tokens.push(this.#token("dedent", this.#at, ""));
    return tokens;
  }

  /** Adds the next token, if what stands here makes one. */
  #next(tokens: Token[]): void {
    const text = this.#text;
    const at = this.#at;
    const char = text[at]!;
    if (char === " " || char === "\r") this.#at++;
    else if (char === "\n") this.#newLine(tokens);
    else if (char === "#") this.#comment();
    else if (char === "\t") throw new Failure("Parse error: tabs are not allowed", { start: at, end: at + 1 });
    else if (char === "\\" && /\\\r?\n/y.test(text.slice(at, at + 3))) this.#at += text[at + 1] === "\r" ? 3 : 2;
    else tokens.push(this.#string() ?? this.#name() ?? this.#number() ?? this.#symbol());
  }

  #newLine(tokens: Token[]): void {
    this.#at++;
    if (this.#brackets > 0) return;
    tokens.push(this.#token("newline", this.#at - 1, "\n"));
    this.#indentation(tokens);
  }

  #comment(): void {
    const end = this.#text.indexOf("\n", this.#at);
    this.#at = end < 0 ? this.#text.length : end;
  }

  /** Measures a line's indentation. Lines with nothing but a comment have none, empty ones are left alone. */
  #indentation(tokens: Token[]): void {
    const text = this.#text;
    let begin = this.#at;
    let hasTabs = false;
    let width = 0;
    for (;; this.#at++) {
      const char = text[this.#at];
      if (char === undefined || char === "\n") return;
      if (char === " ") width++;
      else if (char === "\t") hasTabs = true;
      else if (char === "#") {
        this.#comment();
        if (this.#at >= text.length) return;
        [width, hasTabs, begin] = [0, false, this.#at + 1];
      } else if (char !== "\r") break;
    }
    if (hasTabs) throw new Failure("Parse error: tabs are not allowed", { start: begin, end: begin + 1 });
    if (width > this.#indents.at(-1)!) {
      if (this.#indents.length > MAX_NESTING) throw tooDeep(begin);
      this.#indents.push(width);
      tokens.push({ kind: "indent", text: "", start: begin, end: this.#at });
    }
    while (width < this.#indents.at(-1)!) {
      this.#indents.pop();
      if (width > this.#indents.at(-1)!) {
        throw new Failure("Parse error: incorrect indentation", { start: begin, end: this.#at });
      }
      tokens.push({ kind: "dedent", text: "", start: begin, end: begin });
    }
  }

  #string(): Token | null {
    const start = this.#at;
    const opening = this.#match(STRING_START);
    if (opening === null) return null;
    const quote = opening.replace(/^[a-z]+/, "");
    const prefix = opening.slice(0, opening.length - quote.length);
    if (prefix.includes("b")) {
      throw new Failure("Parse error: bytes are not supported, rules compare text: write a string without `b`", {
        start,
        end: this.#at,
      });
    }
    const isRaw = prefix.includes("r");
    if (prefix.includes("f")) return this.#fstring(start, quote, isRaw);
    const { value, end } = readString(this.#text, this.#at, { quote, isRaw, start });
    this.#at = end;
    return { kind: "string", text: value, start, end };
  }

  #fstring(start: number, quote: string, isRaw: boolean): Token {
    if (++this.#fstrings > MAX_NESTING) throw tooDeep(start);
    const parts: FStringPart[] = [];
    for (;;) {
      const { value, end, stop } = readString(this.#text, this.#at, { quote, isRaw, start, isFString: true });
      if (value !== "") parts.push({ text: value });
      this.#at = end;
      if (stop === "quote") break;
      parts.push(this.#replacement(start));
    }
    this.#fstrings--;
    return { kind: "fstring", text: "", parts, start, end: this.#at };
  }

  /** An expression within an f-string, up to its closing brace. New lines mean nothing in it. */
  #replacement(start: number): FStringPart {
    const tokens: Token[] = [];
    const outer = this.#brackets;
    this.#brackets = 1;
    let conversion: "s" | "r" = "s";
    for (;;) {
      const char = this.#text[this.#at];
      if (char === undefined) {
        throw new Failure("Parse error: f-string expression is missing closing `}`", { start, end: this.#at });
      }
      if (this.#brackets === 1 && char === "}") break;
      if (this.#brackets === 1 && char === "!" && this.#text[this.#at + 1] !== "=") {
        const wanted = /![ ]*(\w*)[ ]*\}/y;
        wanted.lastIndex = this.#at;
        const name = wanted.exec(this.#text)?.[1];
        if (name !== "s" && name !== "r") {
          throw new Failure("invalid f-string conversion specifier, expected 's' or 'r'", {
            start: this.#at,
            end: this.#at + 2,
          });
        }
        conversion = name;
        this.#at = wanted.lastIndex - 1;
      } else this.#next(tokens);
    }
    this.#brackets = outer;
    tokens.push({ kind: "end", text: "}", start: this.#at, end: ++this.#at });
    return { tokens, conversion };
  }

  #name(): Token | null {
    const start = this.#at;
    const name = this.#match(NAME);
    if (name === null) return null;
    if (RESERVED.has(name)) {
      throw new Failure(`Parse error: cannot use reserved keyword \`${name}\``, { start, end: this.#at });
    }
    return this.#token(KEYWORDS.has(name) ? "word" : "name", start, name);
  }

  #number(): Token | null {
    const start = this.#at;
    const float = this.#match(FLOAT);
    if (float !== null) return { ...this.#token("float", start, float), float: Number(float) };
    const digits = this.#match(INTEGER);
    if (digits === null) return null;
    const span = { start, end: this.#at };
    if (/^0[0-9]/.test(digits)) {
      throw new Failure(`Parse error: integer cannot have leading 0, got \`${digits}\``, span);
    }
    if (digits.length > MAX_INTEGER_DIGITS) {
      throw new Failure(`Parse error: integer is longer than ${MAX_INTEGER_DIGITS} digits`, span);
    }
    return { ...this.#token("int", start, digits), int: BigInt(digits) };
  }

  #symbol(): Token {
    const start = this.#at;
    const symbol = SYMBOLS.find((candidate) => this.#text.startsWith(candidate, start));
    if (symbol === undefined) {
      const char = String.fromCodePoint(this.#text.codePointAt(start)!);
      throw new Failure(`Parse error: invalid input \`${char}\``, { start, end: start + char.length });
    }
    if (symbol === "(" || symbol === "[" || symbol === "{") this.#brackets++;
    else if (symbol === ")" || symbol === "]" || symbol === "}") this.#brackets--;
    this.#at += symbol.length;
    return this.#token("word", start, symbol);
  }

  #match(pattern: RegExp): string | null {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0] ?? null;
    if (found !== null) this.#at += found.length;
    return found;
  }

  #token(kind: Token["kind"], start: number, text: string): Token {
    return { kind, text, start, end: Math.max(start, this.#at) };
  }
}

function tooDeep(start: number): Failure {
  return new Failure(`Parse error: nested more than ${MAX_NESTING} levels deep`, { start, end: start + 1 });
}
