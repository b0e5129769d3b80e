/** Hands tokens to the parsers one by one, says what was expected where something else stands, and bounds nesting. */

import { MAX_NESTING } from "../limits.ts";
import { Failure } from "./failure.ts";
import type { Span } from "./source_text.ts";
import { described, type Token } from "./tokens.ts";

export class TokenReader {
  readonly #tokens: readonly Token[];
  /** Shared by the readers of an f-string's expressions. */
  readonly #nesting: { depth: number };
  #at = 0;

  constructor(tokens: readonly Token[], nesting: { depth: number } = { depth: 0 }) {
    this.#tokens = tokens;
    this.#nesting = nesting;
  }

  /** A reader of tokens within the token just read. */
  within(tokens: readonly Token[]): TokenReader {
    return new TokenReader(tokens, this.#nesting);
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#tokens.length;
  }

  peek(): Token {
    const token = this.#tokens[this.#at] ?? this.#tokens.at(-1)!;
    if (token.fault !== undefined) throw token.fault;
    return token;
  }

  peekSecond(): Token | undefined {
    return this.#tokens[this.#at + 1];
  }

  /** The end of what was read last: where a node ends. */
  get end(): number {
    return this.#tokens[this.#at - 1]?.end ?? 0;
  }

  next(): Token {
    const token = this.peek();
    this.#at++;
    return token;
  }

  /** Whether this keyword or symbol is next. */
  isWord(text: string): boolean {
    const token = this.peek();
    return token.kind === "word" && token.text === text && !this.isAtEnd;
  }

  /** Takes the keyword or symbol if it is next. */
  take(text: string): boolean {
    if (!this.isWord(text)) return false;
    this.#at++;
    return true;
  }

  expect(text: string): Token {
    if (!this.isWord(text)) throw this.unexpected(`symbol '${text}'`);
    return this.next();
  }

  expectKind(kind: Token["kind"], name: string): Token {
    if (this.isAtEnd || this.peek().kind !== kind) throw this.unexpected(name);
    return this.next();
  }

  unexpected(expected: string): Failure {
    const token = this.peek();
    return new Failure(`Parse error: unexpected ${described(token)}, expected ${expected}`, token);
  }

  /** Runs a part of the parser one level further down. */
  deeper<T>(parse: () => T): T {
    if (++this.#nesting.depth > MAX_NESTING) throw tooDeep(this.peek());
    const result = parse();
    this.#nesting.depth--;
    return result;
  }
}

export function tooDeep(span: Span): Failure {
  return new Failure(`Parse error: nested more than ${MAX_NESTING} levels deep`, span);
}
