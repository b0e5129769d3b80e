/**
 * Splits argv into words: flags as `--name value`, `--name=value`, `--no-name` and short letters, positionals, and
 * places (`@NAME`) for the commands that have them. `flags.ts` decides whether a word is valid, because there the error
 * can name the nearest flag.
 *
 * argv is split here, because loading `node:util` for its `parseArgs` takes 7 ms of start-up under `deno run` and 2 to
 * 5 ms in the compiled program. The rules are those of `parseArgs`.
 */

import type { FlagSpec, FlagTable } from "./flags.ts";

/** What a command accepts besides flags and positionals. */
export interface Grammar {
  /** Flags end at the first positional: everything after it belongs to another command. */
  readonly endsAtPositional?: boolean;
  /** `@NAME` names a place: before the first positional, or anywhere if flags do not end there. */
  readonly hasPlaces?: boolean;
}

export interface FlagWord {
  readonly type: "flag";
  /** Null: the table has no such flag. */
  readonly name: string | null;
  /** As the user wrote it, without a value: errors name this. */
  readonly written: string;
  readonly isAction: boolean;
  readonly isNegated: boolean;
  readonly value: string | undefined;
  /** Written `--name=value`, so a leading dash in the value is intended. */
  readonly isInline: boolean;
}

type Word =
  | FlagWord
  | { readonly type: "positional"; readonly value: string }
  | { readonly type: "place"; readonly value: string };

/** See the head of the module. */
export function readWords(table: FlagTable, argv: readonly string[], grammar: Grammar = {}): Word[] {
  const byWord = flagsByWord(table);
  const words: Word[] = [];
  const rest = [...argv];
  while (rest.length > 0) {
    const text = rest.shift()!;
    if (text === "--") {
      for (const value of rest.splice(0)) words.push({ type: "positional", value });
      break;
    }
    if (!text.startsWith("-") || text === "-") {
      if (grammar.hasPlaces === true && /^@[^/]/.test(text)) words.push({ type: "place", value: text.slice(1) });
      else words.push({ type: "positional", value: text });
      if (grammar.endsAtPositional !== true || words.at(-1)!.type === "place") continue;
      for (const value of rest.splice(0)) words.push({ type: "positional", value });
      break;
    }
    const letters = byWord.has(text) ? null : shortLetters(text, table, byWord);
    if (letters !== null) {
      rest.unshift(...letters);
      continue;
    }
    // A name has at least one character. `-path` is one unknown word, unless `p` is a letter of this command.
    const equals = text.startsWith("--") ? text.indexOf("=", "--x".length) : -1;
    const isInline = equals > 0;
    const written = isInline ? text.slice(0, equals) : text;
    const { name, isNegated } = byWord.get(written) ?? { name: null, isNegated: false };
    const takesNext = !isInline && !isNegated && name !== null && hasValue(table[name]!) && rest.length > 0;
    words.push({
      type: "flag",
      name,
      written: name === null ? text.replace(/=.*$/s, "") : written,
      isAction: name !== null && table[name]!.kind === "action",
      isNegated,
      value: isInline ? text.slice(equals + 1) : takesNext ? rest.shift() : undefined,
      isInline,
    });
  }
  return words;
}

type ByWord = Map<string, { name: string; isNegated: boolean }>;

/** What a flag can be written as: `--name`, `--no-name`, `-n`. */
function flagsByWord(table: FlagTable): ByWord {
  const byWord: ByWord = new Map();
  for (const [name, spec] of Object.entries(table)) {
    byWord.set(`--${name}`, { name, isNegated: false });
    if (isNegatable(spec)) byWord.set(`--no-${name}`, { name, isNegated: true });
    if (spec.short !== undefined) byWord.set(`-${spec.short}`, { name, isNegated: false });
  }
  return byWord;
}

/** `-it` is `-i -t`, and `-C/work` is `--cwd=/work`. Null for other words. */
function shortLetters(text: string, table: FlagTable, byWord: ByWord): string[] | null {
  if (text.startsWith("--")) return null;
  const words: string[] = [];
  for (let at = 1; at < text.length; at++) {
    const known = byWord.get(`-${text[at]}`);
    if (known === undefined || table[known.name]!.kind === "action") return null;
    if (hasValue(table[known.name]!) && at + 1 < text.length) {
      return [...words, `--${known.name}=${text.slice(at + 1)}`];
    }
    words.push(`-${text[at]}`);
  }
  return words;
}

/** Whether `--no-NAME` exists. */
export function isNegatable(spec: FlagSpec): boolean {
  return spec.kind === "switch" && spec.default;
}

function hasValue(spec: FlagSpec): boolean {
  return spec.kind !== "action" && spec.kind !== "switch";
}
