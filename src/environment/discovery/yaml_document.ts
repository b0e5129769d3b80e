/**
 * YAML in, as a tree of texts: the caller, who expects something there, decides what a scalar means, since `name: 0x1F`
 * is a name. The library is loaded when first needed.
 */

import type { CST, Document, Node } from "yaml";
import { MAX_YAML_ALIASES, MAX_YAML_DEPTH, MAX_YAML_LENGTH, MAX_YAML_LEXEMES } from "../limits.ts";

export interface YamlScalar {
  readonly text: string;
  /** Written without quotes: may stand for a number, a truth value or nothing. */
  readonly isPlain: boolean;
}

export type YamlValue = YamlScalar | YamlValue[] | YamlMap | null;
export type YamlMap = ReadonlyMap<string, YamlValue>;

/** Undefined when the text is not one well-formed document, or too long to be looked at. */
export async function parseYaml(text: string): Promise<YamlValue | undefined> {
  if (text.length > MAX_YAML_LENGTH) return undefined;
  // A CommonJS package: its types do not say that it is the default export, which is all that a bundle keeps of it.
  const { default: yaml } = await import("yaml") as unknown as { default: typeof import("yaml") };
  // That keys are unique is seen below: the library compares each with all others. Nobody reads where errors are.
  const composer = new yaml.Composer({ schema: "failsafe", uniqueKeys: false, prettyErrors: false });
  const tokens = parseTokens(yaml, text);
  if (tokens === null) return undefined;
  const [document, ...others] = composer.compose(tokens, FORCE_DOCUMENT, text.length);
  if (document === undefined || others.length > 0 || document.errors.length > 0) return undefined;
  return convert(yaml, document, document.contents as Node | null, { aliases: 0 });
}

/** Null when there are too many of them or too deep, or one is an error: there can be one for each character. */
function parseTokens(yaml: typeof import("yaml"), text: string): CST.Token[] | null {
  const parser = new yaml.Parser();
  const tokens: CST.Token[] = [];
  let lexemes = 0;
  let depth = 0;
  for (const lexeme of new yaml.Lexer().lex(text)) {
    if (lexeme === "[" || lexeme === "{") depth++;
    else if (lexeme === "]" || lexeme === "}") depth--;
    if (++lexemes > MAX_YAML_LEXEMES || depth > MAX_YAML_DEPTH) return null;
    tokens.push(...parser.next(lexeme));
    if (tokens.at(-1)?.type === "error") return null;
  }
  tokens.push(...parser.end());
  return tokens.at(-1)?.type === "error" ? null : tokens;
}

/** A text without content is an empty document. */
const FORCE_DOCUMENT = true;

const NOTHING = /^(?:~|null|Null|NULL|)$/;

function convert(
  yaml: typeof import("yaml"),
  document: Document,
  node: Node | null,
  count: { aliases: number },
): YamlValue | undefined {
  if (node === null) return null;
  if (yaml.isAlias(node)) {
    const target = node.resolve(document);
    if (target === undefined || ++count.aliases > MAX_YAML_ALIASES) return undefined;
    return convert(yaml, document, target, count);
  }
  if (node.tag !== undefined && !node.tag.startsWith("tag:yaml.org,2002:")) return undefined;
  if (yaml.isScalar(node)) {
    const isPlain = node.type === "PLAIN";
    const text = String(node.value ?? "");
    return isPlain && NOTHING.test(text) ? null : { text, isPlain };
  }
  if (yaml.isSeq(node)) {
    const items: YamlValue[] = [];
    for (const item of node.items) {
      const value = convert(yaml, document, item as Node | null, count);
      if (value === undefined) return undefined;
      items.push(value);
    }
    return items;
  }
  if (!yaml.isMap(node)) return undefined;
  const map = new Map<string, YamlValue>();
  for (const { key, value } of node.items) {
    if (!yaml.isScalar(key)) return undefined;
    const converted = convert(yaml, document, value as Node | null, count);
    if (converted === undefined) return undefined;
    const name = String(key.value ?? "");
    if (map.has(name)) return undefined;
    map.set(name, converted);
  }
  return map;
}

export function isYamlMap(value: YamlValue | undefined): value is YamlMap {
  return value instanceof Map;
}

/** The text of a scalar, on one line; null for none; undefined for what is not a scalar. */
export function yamlText(value: YamlValue | undefined): string | null | undefined {
  if (value === undefined || value === null) return null;
  if (Array.isArray(value) || isYamlMap(value)) return undefined;
  return onOneLine(value.text);
}

export function onOneLine(text: string): string {
  return text.split(/\s+/).filter((word) => word !== "").join(" ");
}
