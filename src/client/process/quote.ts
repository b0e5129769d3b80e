/**
 * Command lines from template literals. Values never become syntax: they are handed to the shell as its positional
 * parameters, put into variables at once, and the text has `"${_1}"`, `"${_2}"` in their places. So a value is one word
 * whatever it holds, also inside a function and after `set --`, which have positional parameters of their own.
 */

import { shellWord } from "../../shell_quote.ts";

/**
 * A value in a template: a word, or several.
 *
 * ```ts
 * const files: TemplateValue = ["a file.txt", "it's another"];
 * await box.$`rm -f -- ${files}`;
 * ```
 */
export type TemplateValue = string | number | boolean | bigint | readonly (string | number | boolean | bigint)[];

/** A command for a shell. */
export interface ShellText {
  /** The text, with parameters in the places of the values. */
  readonly script: string;
  /** The values, from `$1` on. */
  readonly parameters: readonly string[];
  /** For people: the values quoted in their places. */
  readonly shown: string;
}

/**
 * Puts `$1` into `_1`, and so on. A loop, because one argument of a program has at most 128 KiB: a list of some thousand
 * files takes half of that already.
 */
const TAKE_VALUES = '_0=0; for _v do _0=$((_0 + 1)); eval "_$_0=\\$_v"; done; ';

/**
 * The command that a template means.
 *
 * @throws {TypeError} for a value that is not a word, and for one between quotes
 */
export function shellText(strings: TemplateStringsArray, values: readonly TemplateValue[]): ShellText {
  let script = "";
  let shown = "";
  const parameters: string[] = [];
  strings.forEach((literal: string | undefined, index) => {
    if (literal === undefined) {
      throw new TypeError(`a command has an escape that JavaScript does not know: write \\\\ for a backslash`);
    }
    script += literal;
    shown += literal;
    if (index === values.length) return;
    const quote = openQuote(strings.slice(0, index + 1));
    if (quote !== null) {
      throw new TypeError(`do not put ${quote} around \${…}: values are quoted already, and are one word each`);
    }
    const words = wordsOf(values[index]!);
    script += words.map((word) => `"\${_${parameters.push(word)}}"`).join(" ");
    shown += words.map(shellWord).join(" ");
  });
  return { script: parameters.length === 0 ? script : TAKE_VALUES + script, parameters, shown };
}

function wordsOf(value: TemplateValue): string[] {
  if (Array.isArray(value)) return value.flatMap((item) => wordsOf(item));
  if (["string", "number", "boolean", "bigint"].includes(typeof value)) {
    const word = String(value);
    if (word.includes("\0")) throw new TypeError("a value of a command must not contain a NUL character");
    return [word];
  }
  throw new TypeError(`a value of a command must be a text, a number or a list of those, not ${typeof value}`);
}

/** The quote that is open after these literals, or null. */
function openQuote(literals: readonly string[]): "'" | '"' | null {
  let open: "'" | '"' | null = null;
  // Values are whole words and open nothing.
  const text = literals.join(" ");
  for (let at = 0; at < text.length; at++) {
    const char = text[at];
    if (char === "\\" && open !== "'") at++;
    else if ((char === "'" || char === '"') && (open === null || open === char)) open = open === null ? char : null;
  }
  return open;
}
