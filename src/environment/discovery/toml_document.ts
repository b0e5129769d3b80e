/**
 * TOML in and out, without losing what JavaScript's numbers would: integers of 64 bits, and the difference between an
 * integer and a float. The library is loaded when first needed. Complaints name a position, never the text there.
 */

import type { TomlTable, TomlValue } from "smol-toml";
import { internalError } from "../../errors.ts";
import { MAX_TOML_DEPTH } from "../limits.ts";

/** Tables have no prototype: every key is the document's own. Integers are `bigint`, floats `number`. */
export type { TomlTable, TomlValue };

/** `where` names the document in a complaint. */
export async function parseToml(text: string, where: string): Promise<TomlTable> {
  const { parse, TomlError } = await import("smol-toml");
  try {
    const table = parse(text, { integersAsBigInt: true, maxDepth: MAX_TOML_DEPTH });
    if (text.includes("\\")) flattenStrings(table);
    return table;
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    // The rest of the library's message quotes the lines around the fault, which may hold anything.
    const [reason = ""] = error.message.split("\n", 1);
    throw internalError(`${where}:${error.line}:${error.column}: ${reason}`);
  }
}

/**
 * The library puts a string with escapes together piece by piece, and the engine keeps every piece: twenty times as much
 * as the string has. A copy has none.
 */
function flattenStrings(values: TomlTable | TomlValue[]): void {
  const places: Record<string, TomlValue> = values as TomlTable;
  for (const at of Object.keys(values)) {
    const value = places[at]!;
    if (typeof value === "string") places[at] = JSON.parse(JSON.stringify(value));
    else if (Array.isArray(value) || isTomlTable(value)) flattenStrings(value);
  }
}

export async function stringifyToml(table: TomlTable): Promise<string> {
  const { stringify } = await import("smol-toml");
  try {
    return stringify(table, { numbersAsFloat: true });
  } catch (error) {
    // The library writes fewer levels than can be read.
    throw internalError(`cannot write a configuration: ${error instanceof Error ? error.message : error}`, error);
  }
}

export function isTomlTable(value: TomlValue | undefined): value is TomlTable {
  return typeof value === "object" && !Array.isArray(value) && !(value instanceof Date);
}

/** A copy without the values at the ends of the paths. */
export function withoutTomlPaths(table: TomlTable, paths: readonly (readonly string[])[]): TomlTable {
  const below = new Map<string, (readonly string[])[]>();
  for (const [key, ...rest] of paths) {
    if (key === undefined || table[key] === undefined) continue;
    const others = below.get(key);
    if (others === undefined) below.set(key, [rest]);
    else others.push(rest);
  }
  if (below.size === 0) return table;
  const copy: TomlTable = Object.assign(Object.create(null), table);
  for (const [key, rests] of below) {
    const child = table[key];
    if (rests.some((rest) => rest.length === 0)) delete copy[key];
    else if (isTomlTable(child)) copy[key] = withoutTomlPaths(child, rests);
  }
  return copy;
}
