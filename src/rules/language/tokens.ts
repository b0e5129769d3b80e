/** The words of the language: what the lexer makes and the parser reads. */

import type { Span } from "./source_text.ts";

export const KEYWORDS: ReadonlySet<string> = new Set([
  ...["and", "break", "continue", "def", "elif", "else", "for", "if", "in", "lambda", "load", "not", "or", "pass"],
  "return",
]);

/** Words of Python that Starlark reserves without giving them a meaning. */
export const RESERVED: ReadonlySet<string> = new Set([
  ...["as", "assert", "async", "await", "class", "del", "except", "finally", "from", "global", "import", "is"],
  ...["nonlocal", "raise", "try", "while", "with", "yield"],
]);

/** Longest first, so that the first that fits is the one that is meant. */
export const SYMBOLS: readonly string[] = [
  ...["<<=", ">>=", "//=", "..."],
  ...["+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "==", "!=", "<=", ">=", "<<", ">>", "//", "**", "->"],
  ...["+", "-", "*", "/", "%", "&", "|", "^", "~", "<", ">", "=", ".", ",", ";", ":", "(", ")", "[", "]", "{", "}"],
];

/** One stretch of an f-string: text as it is, or the words of an expression. */
export type FStringPart =
  | { readonly text: string }
  | { readonly tokens: readonly Token[]; readonly conversion: "s" | "r" };

export interface Token extends Span {
  /** A keyword or symbol stands for itself. `end` closes the file, or the expression of an f-string. */
  readonly kind: "newline" | "indent" | "dedent" | "end" | "name" | "int" | "float" | "string" | "fstring" | "word";
  /** The keyword, symbol or name; the value of a string. */
  readonly text: string;
  readonly int?: bigint;
  readonly float?: number;
  readonly parts?: readonly FStringPart[];
  /** What is wrong with the text here. It is the last token. The fault is thrown when the parser gets that far. */
  readonly fault?: Error;
}

/** A token as errors name it. */
export function described(token: Token): string {
  switch (token.kind) {
    case "newline":
      return "new line";
    case "indent":
      return "new indentation block";
    case "dedent":
      return "end of indentation block";
    case "end":
      return "f-string expression end '}'";
    case "name":
      return `identifier '${token.text}'`;
    case "int":
      return `integer literal '${token.int}'`;
    case "float":
      return `float literal '${token.text}'`;
    case "string":
      return `string literal ${JSON.stringify(token.text)}`;
    case "fstring":
      return "f-string";
    case "word":
      return KEYWORDS.has(token.text) ? `keyword '${token.text}'` : `symbol '${token.text}'`;
  }
}
