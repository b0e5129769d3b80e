/** `==` and the order of values. Different types are never equal and have no order, except integers and floats. */

import { MAX_VALUE_DEPTH } from "../limits.ts";
import type { Budget } from "./budget.ts";
import { Failure } from "./failure.ts";
import { Dict, List, Range, Tuple, typeName, type Value } from "./values.ts";

export function areEqual(a: Value, b: Value, budget: Budget, depth = 0): boolean {
  // Texts of one length are compared character by character.
  budget.step(typeof a === "string" && typeof b === "string" && a.length === b.length ? 1 + (a.length >> 5) : 1);
  if (a === b) return true;
  if (depth > MAX_VALUE_DEPTH) throw new Failure("Too many recursion levels");
  if (isNumber(a) && isNumber(b)) return typeof a !== typeof b && compareNumbers(a, b) === 0;
  if ((a instanceof List && b instanceof List) || (a instanceof Tuple && b instanceof Tuple)) {
    return a.items.length === b.items.length &&
      a.items.every((item, index) => areEqual(item, b.items[index]!, budget, depth + 1));
  }
  if (a instanceof Dict && b instanceof Dict) {
    return a.size === b.size && a.entries().every(({ key, value }) => {
      const other = b.get(key, budget);
      return other !== undefined && areEqual(value, other, budget, depth + 1);
    });
  }
  if (a instanceof Range && b instanceof Range) return areEqualRanges(a, b);
  return false;
}

function areEqualRanges(a: Range, b: Range): boolean {
  if (a.length !== b.length) return false;
  return a.length === 0 || (a.start === b.start && (a.length === 1 || a.step === b.step));
}

/** Negative, zero or positive; throws for values that have no order. */
export function compare(a: Value, b: Value, budget: Budget, depth = 0): number {
  budget.step();
  if (depth > MAX_VALUE_DEPTH) throw new Failure("Too many recursion levels");
  if (isNumber(a) && isNumber(b)) return compareNumbers(a, b);
  if (typeof a === "string" && typeof b === "string") {
    budget.step(Math.min(a.length, b.length) >> 3);
    return compareText(a, b);
  }
  if (typeof a === "boolean" && typeof b === "boolean") return Number(a) - Number(b);
  if ((a instanceof List && b instanceof List) || (a instanceof Tuple && b instanceof Tuple)) {
    const shared = Math.min(a.items.length, b.items.length);
    for (let index = 0; index < shared; index++) {
      const order = compare(a.items[index]!, b.items[index]!, budget, depth + 1);
      if (order !== 0) return order;
    }
    return a.items.length - b.items.length;
  }
  throw new Failure(`Operation \`compare\` not supported for types \`${typeName(a)}\` and \`${typeName(b)}\``);
}

function isNumber(value: Value): value is number | bigint {
  return typeof value === "bigint" || typeof value === "number";
}

/** Mixed kinds are compared exactly; what is not a number comes last, so that sorting has an answer. */
function compareNumbers(a: number | bigint, b: number | bigint): number {
  if (a < b) return -1;
  if (a > b) return 1;
  return Number(Number.isNaN(a)) - Number(Number.isNaN(b));
}

/**
 * By characters, which is also the order of their bytes in UTF-8. UTF-16 units would put characters beyond 65535 before
 * some that are below.
 */
export function compareText(a: string, b: string): number {
  if (a === b) return 0;
  let at = 0;
  while (at < a.length && at < b.length && a[at] === b[at]) at++;
  // If the second halves of two surrogate pairs differ, the whole pairs are compared.
  if (at > 0 && /[\udc00-\udfff]/.test((a[at] ?? "") + (b[at] ?? ""))) at--;
  return (a.codePointAt(at) ?? -1) - (b.codePointAt(at) ?? -1);
}
