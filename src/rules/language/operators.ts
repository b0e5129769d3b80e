/** The binary and unary operators. An operator whose result can be large asks the budget first. */

import { MAX_INTEGER_BITS } from "../limits.ts";
import type { Budget } from "./budget.ts";
import { areEqual, compare } from "./equality.ts";
import { Failure } from "./failure.ts";
import { percentFormat } from "./percent_format.ts";
import { quotedValue } from "./text.ts";
import type { BinaryOperator } from "./syntax.ts";
import { unionOf } from "./types.ts";
import { Dict, List, Range, Tuple, typeName, type Value } from "./values.ts";

const INTEGER_LIMIT = 1n << BigInt(MAX_INTEGER_BITS);
const MAX_REPEATS = 2n ** 31n;

export function applyBinary(operator: BinaryOperator, a: Value, b: Value, budget: Budget): Value {
  switch (operator) {
    case "==":
      return areEqual(a, b, budget);
    case "!=":
      return !areEqual(a, b, budget);
    case "<":
      return compare(a, b, budget) < 0;
    case ">":
      return compare(a, b, budget) > 0;
    case "<=":
      return compare(a, b, budget) <= 0;
    case ">=":
      return compare(a, b, budget) >= 0;
    case "in":
      return contains(b, a, budget);
    case "not in":
      return !contains(b, a, budget);
  }
  const result = typeof a === "bigint" && typeof b === "bigint"
    ? onIntegers(operator, a, b)
    : isNumber(a) && isNumber(b)
    ? onFloats(operator, Number(a), Number(b))
    : onOthers(operator, a, b, budget);
  if (result !== undefined) return result;
  throw new Failure(`Operation \`${operator}\` not supported for types \`${typeName(a)}\` and \`${typeName(b)}\``);
}

export function applyUnary(operator: "+" | "-" | "~", value: Value): Value {
  if (typeof value === "bigint") return operator === "-" ? -value : operator === "~" ? ~value : value;
  if (typeof value === "number" && operator !== "~") return operator === "-" ? -value : value;
  throw new Failure(`Operation \`${operator}\` not supported on type \`${typeName(value)}\``);
}

function isNumber(value: Value): value is bigint | number {
  return typeof value === "bigint" || typeof value === "number";
}

type Arithmetic = Exclude<BinaryOperator, "==" | "!=" | "<" | ">" | "<=" | ">=" | "in" | "not in">;

function onIntegers(operator: Arithmetic, a: bigint, b: bigint): Value {
  switch (operator) {
    case "+":
      return bounded(a + b);
    case "-":
      return bounded(a - b);
    case "*":
      return bounded(a * b);
    case "/":
      if (b === 0n) throw new Failure(`float division by zero: ${a} / ${b}`);
      return Number(a) / Number(b);
    case "//": {
      if (b === 0n) throw new Failure(`Floor division by zero: ${a} // ${b}`);
      const quotient = a / b;
      return a % b !== 0n && (a < 0n) !== (b < 0n) ? quotient - 1n : quotient;
    }
    case "%": {
      if (b === 0n) throw new Failure(`Modulo by zero: ${a} % ${b}`);
      const rest = a % b;
      return rest !== 0n && (rest < 0n) !== (b < 0n) ? rest + b : rest;
    }
    case "&":
      return a & b;
    case "|":
      return a | b;
    case "^":
      return a ^ b;
    case "<<":
      if (b < 0n) throw new Failure("Negative left shift");
      if (b > BigInt(MAX_INTEGER_BITS)) throw new Failure("Integer overflow computing left shift");
      return bounded(a << b);
    case ">>":
      if (b < 0n) throw new Failure("Negative right shift");
      return b > BigInt(MAX_INTEGER_BITS) ? (a < 0n ? -1n : 0n) : a >> b;
  }
}

function bounded(value: bigint): bigint {
  if (value < INTEGER_LIMIT && value > -INTEGER_LIMIT) return value;
  throw new Failure(`Integer overflow: more than ${MAX_INTEGER_BITS} bits`);
}

function onFloats(operator: Arithmetic, a: number, b: number): Value | undefined {
  switch (operator) {
    case "+":
      return a + b;
    case "-":
      return a - b;
    case "*":
      return a * b;
    case "/":
      if (b === 0) throw new Failure("Cannot divide by zero");
      return a / b;
    case "//":
      if (b === 0) throw new Failure("Cannot divide by zero");
      return Math.floor(a / b);
    case "%": {
      if (b === 0) throw new Failure("Cannot divide by zero");
      const rest = a % b;
      return rest !== 0 && (rest < 0) !== (b < 0) ? rest + b : rest;
    }
  }
}

function onOthers(operator: Arithmetic, a: Value, b: Value, budget: Budget): Value | undefined {
  switch (operator) {
    case "+":
      return sum(a, b, budget);
    case "*":
      return typeof b === "bigint"
        ? repeated(a, b, budget)
        : typeof a === "bigint"
        ? repeated(b, a, budget)
        : undefined;
    case "%":
      return typeof a === "string" ? percentFormat(a, b, budget) : undefined;
    case "|":
      if (a instanceof Dict && b instanceof Dict) {
        const joined = new Dict();
        for (const { key, value } of [...a.entries(), ...b.entries()]) joined.set(key, value, budget);
        return joined;
      }
      return unionOf(a, b) ?? undefined;
  }
}

function sum(a: Value, b: Value, budget: Budget): Value | undefined {
  if (typeof a === "string" && typeof b === "string") {
    budget.text(a.length + b.length);
    return a + b;
  }
  if (a instanceof List && b instanceof List) {
    budget.cells(a.items.length + b.items.length);
    return new List(a.items.concat(b.items));
  }
  if (a instanceof Tuple && b instanceof Tuple) {
    budget.cells(a.items.length + b.items.length);
    return new Tuple(a.items.concat(b.items));
  }
}

function repeated(value: Value, times: bigint, budget: Budget): Value | undefined {
  if (typeof value !== "string" && !(value instanceof List) && !(value instanceof Tuple)) return undefined;
  if (times >= MAX_REPEATS) throw new Failure(`Integer value is too big to fit in i32: ${times}`);
  const count = Math.max(0, Number(times));
  if (typeof value === "string") {
    budget.text(value.length * count);
    return value.repeat(count);
  }
  budget.cells(value.items.length * count);
  const items: Value[] = [];
  for (let round = 0; round < count; round++) for (const item of value.items) items.push(item);
  return value instanceof List ? new List(items) : new Tuple(items);
}

function contains(container: Value, item: Value, budget: Budget): boolean {
  if (typeof container === "string") {
    if (typeof item !== "string") {
      const actual = `${typeName(item)} (repr: ${quotedValue(item)})`;
      throw new Failure(`Type of parameters mismatch, expected \`str\`, actual \`${actual}\``);
    }
    budget.step(container.length >> 4);
    return container.includes(item);
  }
  if (container instanceof Dict) return container.has(item, budget);
  if (container instanceof List || container instanceof Tuple) {
    return container.items.some((candidate) => areEqual(candidate, item, budget));
  }
  if (container instanceof Range) {
    const { start, step, length } = container;
    if (!isNumber(item)) return false;
    const index = (Number(item) - start) / step;
    return Number.isInteger(index) && index >= 0 && index < length;
  }
  throw new Failure(`Operation \`in\` not supported for types \`${typeName(item)}\` and \`${typeName(container)}\``);
}
