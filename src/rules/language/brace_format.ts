/** `"{} of {name!r}".format(…)`: positions, names and the conversions `!s` and `!r`, without widths. */

import type { Budget } from "./budget.ts";
import { Failure } from "./failure.ts";
import { textOf, writtenOut } from "./text.ts";
import type { CallArguments, Value } from "./values.ts";

export function braceFormat(format: string, args: CallArguments, budget: Budget): string {
  const fields = new Fields(format, args);
  let result = "";
  for (let at = 0; at < format.length;) {
    const char = format[at]!;
    if (char !== "{" && char !== "}") {
      result += char;
      at++;
    } else if (format[at + 1] === char) {
      result += char;
      at += 2;
    } else if (char === "}") throw new Failure(`Standalone '}' in format string \`${format}\``);
    else {
      const end = format.indexOf("}", at);
      if (end < 0) throw new Failure(`Unmatched '{' in format string \`${format}\``);
      const text = fields.text(format.slice(at + 1, end));
      budget.text(text.length);
      result += text;
      at = end + 1;
    }
  }
  budget.text(result.length);
  return result;
}

class Fields {
  readonly #format: string;
  readonly #args: CallArguments;
  #nextIndex = 0;
  #numbering: "automatic" | "manual" | null = null;

  constructor(format: string, args: CallArguments) {
    this.#format = format;
    this.#args = args;
  }

  text(field: string): string {
    const [, name = "", conversion] = /^([^!]*)(?:!(.*))?$/s.exec(field)!;
    if (conversion !== undefined && conversion !== "s" && conversion !== "r") {
      throw new Failure(`Invalid conversion in format string \`${this.#format}\``);
    }
    const value = this.#value(name);
    return conversion === "r" ? writtenOut(value) : textOf(value);
  }

  #value(name: string): Value {
    const { positional, named } = this.#args;
    if (name === "") {
      this.#number("automatic");
      const value = positional[this.#nextIndex++];
      if (value === undefined) throw new Failure("Not enough parameters in format string");
      return value;
    }
    if (/^[0-9]+$/.test(name)) {
      this.#number("manual");
      const value = positional[Number(name)];
      if (value === undefined) throw new Failure(`Index \`${name}\` is out of bound`);
      return value;
    }
    const strange = /[.,[\]{]/.exec(name)?.[0];
    if (strange !== undefined) throw new Failure(`Invalid character '${strange}' inside replacement field`);
    const value = named.get(name);
    if (value === undefined) throw new Failure(`Key \`${name}\` was not found`);
    return value;
  }

  #number(kind: "automatic" | "manual"): void {
    if (this.#numbering !== null && this.#numbering !== kind) {
      throw new Failure(
        "Cannot mix manual field specification and automatic field numbering in format string",
      );
    }
    this.#numbering = kind;
  }
}
