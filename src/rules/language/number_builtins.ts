/** Built-ins about numbers and single characters. */

import { Failure } from "./failure.ts";
import { builtin, parameters, wrongType } from "./signature.ts";
import { characters } from "./subscripts.ts";
import { MAX_INTEGER_BITS } from "../limits.ts";
import { writtenOut } from "./text.ts";
import type { Builtin, Value } from "./values.ts";

const PREFIXES: ReadonlyMap<string, number> = new Map([["0b", 2], ["0o", 8], ["0x", 16]]);
const FLOAT = /^[-+]?(?:[0-9]+\.?[0-9]*(?:[eE][-+]?[0-9]+)?|\.[0-9]+(?:[eE][-+]?[0-9]+)?|inf|infinity|nan)$/i;

export function numberFunctions(): Builtin[] {
  return [
    builtin("abs", parameters("x: float | int"), ([value]) => {
      if (typeof value === "bigint") return value < 0n ? -value : value;
      return Math.abs(value as number);
    }),
    builtin("chr", parameters("i: int"), ([value]) => {
      const code = value as bigint;
      if (code < 0n) throw new Failure(`chr() parameter value negative integer ${code}`);
      if (code > 0x10ffffn || (code >= 0xd800n && code <= 0xdfffn)) {
        throw new Failure(
          `chr() parameter value is 0x${code.toString(16)} which is not a valid UTF-8 codepoint`,
        );
      }
      return String.fromCodePoint(Number(code));
    }),
    builtin("float", parameters("a: any?"), ([value = 0n]) => toFloat(value)),
    builtin("hash", parameters("a: str"), ([text], { budget }) => {
      budget.step((text as string).length >> 3);
      let hash = 0;
      for (const unit of (text as string).split("")) hash = (Math.imul(hash, 31) + unit.charCodeAt(0)) | 0;
      return BigInt(hash);
    }),
    builtin("int", parameters("a: any?", "base: int?="), ([value = 0n, base]) => toInteger(value, base)),
    builtin("ord", parameters("a: str"), ([text]) => {
      const chars = characters(text as string);
      if (chars.length !== 1) {
        throw new Failure(`ord(): ${writtenOut(text as string)} is not a single character string`);
      }
      return BigInt((text as string).codePointAt(0)!);
    }),
  ];
}

function toFloat(value: Value): number {
  if (typeof value === "bigint" || typeof value === "number") return Number(value);
  if (typeof value === "boolean") return value ? 1 : 0;
  if (typeof value !== "string") throw wrongType("a", "bool | float | int | str", value);
  if (value === "") throw new Failure(`"" is not a valid number: cannot parse float from empty string`);
  if (!FLOAT.test(value)) throw new Failure(`${writtenOut(value)} is not a valid number: invalid float literal`);
  if (/nan/i.test(value)) return NaN;
  if (/inf/i.test(value)) return value.startsWith("-") ? -Infinity : Infinity;
  return Number(value);
}

function toInteger(value: Value, base: Value | undefined): bigint {
  if (typeof value === "string") return parseInteger(value, base === undefined ? 10 : Number(base));
  if (base !== undefined) throw new Failure("int() cannot convert non-string with explicit base");
  if (typeof value === "bigint") return value;
  if (typeof value === "boolean") return value ? 1n : 0n;
  if (typeof value !== "number") throw wrongType("a", "bool | float | int | str", value);
  if (!Number.isFinite(value)) {
    throw new Failure(`Float \`${writtenOut(value).replace("+", "")}\` cannot be represented as exact integer`);
  }
  return BigInt(Math.trunc(value));
}

/** With base 0 the prefix decides. With another base, the prefix of that base may be written too. */
function parseInteger(text: string, base: number): bigint {
  if (base !== 0 && (base < 2 || base > 36)) {
    throw new Failure(`${base} is not a valid base, int() base must be >= 2 and <= 36`);
  }
  const [, sign = "", unsigned = ""] = /^([-+]?)(.*)$/s.exec(text)!;
  const prefix = unsigned.slice(0, 2).toLowerCase();
  const prefixBase = PREFIXES.get(prefix);
  const hasPrefix = prefixBase !== undefined && (base === 0 || base === prefixBase);
  const digits = (hasPrefix ? unsigned.slice(2) : unsigned).toLowerCase();
  const actualBase = base === 0 ? prefixBase ?? 10 : base;
  const cannot = new Failure(`Cannot parse \`${text.slice(0, 100)}\` as an integer in base ${base === 0 ? 10 : base}`);
  if (digits === "" || digits.length > MAX_INTEGER_BITS / 4) throw cannot;
  let value = 0n;
  for (const char of digits) {
    const digit = /[0-9a-z]/.test(char) ? parseInt(char, 36) : actualBase;
    if (digit >= actualBase) throw cannot;
    value = value * BigInt(actualBase) + BigInt(digit);
  }
  return sign === "-" ? -value : value;
}
