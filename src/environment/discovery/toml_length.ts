/**
 * How long a table is once it is written, before it is: the name of a table stands again in the header of each one below
 * it, so a short document can be a very long one. Follows the library to the character, but for dates. Pure.
 */

import { isTomlTable, type TomlTable, type TomlValue } from "./toml_document.ts";

export interface TomlLength {
  /** In characters. */
  readonly length: number;
  /** Some character takes two bytes in memory, so all of them do. */
  readonly isWide: boolean;
}

export function lengthOfToml(table: TomlTable): TomlLength {
  const ruler = new Ruler();
  // The last line ends, too.
  return { length: ruler.table(table, 0, false) + 1, isWide: ruler.isWide };
}

/** To ask each for its text takes as long as to write it. */
const MAX_DATE_LENGTH = "1979-05-27T07:32:00.000+01:00".length;

const BARE_KEY = /^[a-z0-9_-]+$/i;
const WIDE = /[\u0100-\uffff]/;

class Ruler {
  isWide = false;

  /** `name` is the length of the table's full name, 0 for the outermost. */
  table(table: TomlTable, name: number, hasHeader: boolean): number {
    let values = 0;
    let tables = 0;
    const below = (key: string) => (name === 0 ? 0 : name + ".".length) + this.#key(key);
    const addTable = (length: number) => tables += (tables === 0 ? 0 : "\n".length) + length;
    for (const [key, value] of Object.entries(table)) {
      if (isArrayOfTables(value)) addTable(this.#arrayOfTables(value, below(key)));
      else if (isTomlTable(value)) addTable(this.table(value, below(key), true));
      else values += this.#key(key) + " = \n".length + this.#value(value);
    }
    if (hasHeader && (values > 0 || tables === 0)) values += name + (values > 0 ? "[]\n" : "[]").length;
    return values + tables + (values > 0 && tables > 0 ? "\n".length : 0);
  }

  #arrayOfTables(tables: readonly TomlTable[], name: number): number {
    let length = 0;
    for (const table of tables) {
      length += (length === 0 ? 0 : "\n".length) + "[[]]\n".length + name + this.table(table, name, false);
    }
    return length;
  }

  #value(value: TomlValue): number {
    if (typeof value === "string") return this.#text(value);
    if (Array.isArray(value)) return list(value.map((item) => this.#value(item)));
    if (value instanceof Date) return MAX_DATE_LENGTH;
    if (isTomlTable(value)) {
      return list(Object.entries(value).map(([key, item]) => this.#key(key) + " = ".length + this.#value(item)));
    }
    if (typeof value === "number" && Number.isInteger(value)) return value.toFixed(1).length;
    return String(value).replace("Infinity", "inf").length;
  }

  #key(key: string): number {
    return BARE_KEY.test(key) ? key.length : this.#text(key);
  }

  #text(text: string): number {
    this.isWide ||= WIDE.test(text);
    return JSON.stringify(text).replaceAll("\x7f", "\\u007f").length;
  }
}

/** In brackets or braces, with blanks around and commas between; nothing at all has no blanks. */
function list(items: readonly number[]): number {
  if (items.length === 0) return "[]".length;
  return items.reduce((sum, length) => sum + length + ", ".length, "[ ]".length - ", ".length + " ".length);
}

function isArrayOfTables(value: TomlValue): value is TomlTable[] {
  return Array.isArray(value) && value.length > 0 && value.every(isTomlTable);
}
