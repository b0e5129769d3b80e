/** `"%s of %d" % (…)`. The conversions of the reference: s, r, d, o, x, X, e, f, g and %%, without widths. */

import type { Budget } from "./budget.ts";
import { Failure } from "./failure.ts";
import { scientific, textOf, writtenOut } from "./text.ts";
import { Tuple, typeName, type Value } from "./values.ts";

export function percentFormat(format: string, values: Value, budget: Budget): string {
  const waiting = values instanceof Tuple ? [...values.items] : [values];
  let used = 0;
  let result = "";
  for (let at = 0; at < format.length; at++) {
    if (format[at] !== "%") {
      result += format[at];
      continue;
    }
    const conversion = format[++at];
    if (conversion === undefined) throw new Failure("Incomplete format");
    if (conversion === "%") {
      result += "%";
      continue;
    }
    if (!"srdoxXefg".includes(conversion)) {
      const shown = String.fromCodePoint(format.codePointAt(at)!);
      throw new Failure(`Unsupported format character: '${shown}'`);
    }
    if (used >= waiting.length) throw new Failure("Not enough arguments for format string");
    const text = converted(conversion, waiting[used++]!);
    budget.text(text.length);
    result += text;
  }
  if (used < waiting.length) throw new Failure("Too many arguments for format string");
  budget.text(result.length);
  return result;
}

function converted(conversion: string, value: Value): string {
  if (conversion === "s") return textOf(value);
  if (conversion === "r") return writtenOut(value);
  if (typeof value !== "bigint" && typeof value !== "number") {
    throw new Failure(`Operation \`format(%${conversion})\` not supported on type \`${typeName(value)}\``);
  }
  switch (conversion) {
    case "e":
      return scientific(Number(value), false);
    case "f":
      return Number(value).toFixed(6);
    case "g":
      return short(Number(value));
  }
  if (typeof value === "number" && !Number.isFinite(value)) {
    throw new Failure(`Float \`${writtenOut(value)}\` cannot be represented as exact integer`);
  }
  const whole = typeof value === "bigint" ? value : BigInt(Math.trunc(value));
  if (conversion === "d") return String(whole);
  if (conversion === "o") return whole.toString(8);
  const hex = whole.toString(16);
  return conversion === "x" ? hex : hex.toUpperCase();
}

function short(value: number): string {
  const text = writtenOut(value);
  return text.replace(/\.0$/, "");
}
