/**
 * TOML in and out, without losing what JavaScript's numbers would: integers of 64 bits, and the difference between an
 * integer and a float. The library is loaded when first needed. Complaints name a position, never the text there.
 */

import type { TomlTable, TomlValue } from "smol-toml";
import { internalError } from "../../errors.ts";

/** Tables have no prototype: every key is the document's own. Integers are `bigint`, floats `number`. */
export type { TomlTable, TomlValue };

/** `where` names the document in a complaint. */
export async function parseToml(text: string, where: string): Promise<TomlTable> {
  const { parse, TomlError } = await import("smol-toml");
  try {
    return parse(text, { integersAsBigInt: true });
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    // The rest of the library's message quotes the lines around the fault, which may hold anything.
    const [reason = ""] = error.message.split("\n", 1);
    throw internalError(`${where}:${error.line}:${error.column}: ${reason}`);
  }
}

export async function stringifyToml(table: TomlTable): Promise<string> {
  const { stringify } = await import("smol-toml");
  return stringify(table, { numbersAsFloat: true });
}

export function isTomlTable(value: TomlValue | undefined): value is TomlTable {
  return typeof value === "object" && !Array.isArray(value) && !(value instanceof Date);
}

/** A copy without the value at the end of the path. */
export function withoutTomlPath(table: TomlTable, [key, ...rest]: readonly string[]): TomlTable {
  const child = key === undefined ? undefined : table[key];
  if (key === undefined || child === undefined) return table;
  const copy: TomlTable = Object.assign(Object.create(null), table);
  if (rest.length > 0 && isTomlTable(child)) copy[key] = withoutTomlPath(child, rest);
  else if (rest.length === 0) delete copy[key];
  return copy;
}
