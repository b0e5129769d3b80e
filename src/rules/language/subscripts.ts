/** `x[i]`, `x[a:b:c]`, `x[i] = v`, and going through things. Strings are taken by characters, not by UTF-16 units. */

import type { Budget } from "./budget.ts";
import { Failure } from "./failure.ts";
import { quotedValue } from "./text.ts";
import { genericOf } from "./types.ts";
import { Dict, List, Range, Sequence, Tuple, typeName, type Value } from "./values.ts";

const SURROGATE = /[\ud800-\udfff]/;

/**
 * The characters of a string. A string without surrogate pairs is returned as it is: indexing it gives its characters.
 */
export function characters(text: string): string | string[] {
  return SURROGATE.test(text) ? [...text] : text;
}

export function characterCount(text: string): number {
  return characters(text).length;
}

export function getItem(object: Value, index: Value, budget: Budget): Value {
  if (object instanceof Dict) {
    const value = object.get(index, budget);
    if (value === undefined) throw new Failure(`Key \`${quotedValue(index)}\` was not found`);
    return value;
  }
  if (object instanceof List || object instanceof Tuple) return object.items[position(index, object.items.length)]!;
  if (object instanceof Range) {
    return BigInt(object.start + position(index, object.length) * object.step);
  }
  if (typeof object === "string") {
    budget.step(object.length >> 4);
    const chars = characters(object);
    return chars[position(index, chars.length)]!;
  }
  const type = genericOf(object, index);
  if (type !== null) return type;
  throw new Failure(`Operation \`[]\` not supported for types \`${typeName(object)}\` and \`${typeName(index)}\``);
}

export function setItem(object: Value, index: Value, value: Value, budget: Budget): void {
  if (object instanceof List) {
    object.checkMutable();
    object.items[position(index, object.items.length)] = value;
  } else if (object instanceof Dict) object.set(index, value, budget);
  else throw new Failure("Immutable");
}

/** An index counted from the start; negative ones count from the end. */
function position(index: Value, length: number): number {
  const wanted = asInteger(index);
  const at = wanted < 0 ? wanted + length : wanted;
  if (at < 0 || at >= length) throw new Failure(`Index \`${wanted}\` is out of bound`);
  return at;
}

function asInteger(value: Value): number {
  if (typeof value === "bigint") return Number(value);
  throw new Failure(`Expected \`int\`, but got \`${typeName(value)} (repr: ${quotedValue(value)})\``);
}

export interface Slice {
  readonly from: Value;
  readonly stop: Value;
  readonly step: Value;
}

export function getSlice(object: Value, slice: Slice, budget: Budget): Value {
  const isSliceable = typeof object === "string" || object instanceof List || object instanceof Tuple ||
    object instanceof Range;
  if (!isSliceable) throw new Failure(`Operation \`[::]\` not supported on type \`${typeName(object)}\``);
  if (typeof object === "string") budget.text(object.length);
  const source = typeof object === "string" ? characters(object) : object instanceof Range ? object : object.items;
  const { from, stop, step, count } = bounds(slice, source.length);
  if (object instanceof Range) {
    return new Range(object.start + from * object.step, object.start + stop * object.step, object.step * step);
  }
  if (step === 1 && typeof source === "string") return source.slice(from, from + count);
  budget.cells(count);
  const items = Array.from({ length: count }, (_, index) => (source as readonly Value[])[from + index * step]!);
  if (typeof object === "string") return items.join("");
  return object instanceof List ? new List(items) : new Tuple(items);
}

function bounds(slice: Slice, length: number): { from: number; stop: number; step: number; count: number } {
  const step = slice.step === null ? 1 : asInteger(slice.step);
  if (step === 0) throw new Failure("Index `0` is out of bound");
  const [lowest, highest] = step > 0 ? [0, length] : [-1, length - 1];
  const clamp = (value: Value, whenAbsent: number): number => {
    if (value === null) return whenAbsent;
    const wanted = asInteger(value);
    return Math.min(highest, Math.max(lowest, wanted < 0 ? wanted + length : wanted));
  };
  const from = clamp(slice.from, step > 0 ? lowest : highest);
  const stop = clamp(slice.stop, step > 0 ? highest : lowest);
  return { from, stop, step, count: Math.max(0, Math.ceil((stop - from) / step)) };
}

/** What a loop goes through, as it is now. */
export function iterate(value: Value, budget: Budget): readonly Value[] {
  if (value instanceof List || value instanceof Tuple) return value.items;
  if (value instanceof Sequence) return value.members;
  if (value instanceof Dict) {
    budget.cells(value.size);
    return value.keys();
  }
  if (value instanceof Range) {
    budget.cells(value.length);
    return Array.from({ length: value.length }, (_, index) => BigInt(value.start + index * value.step));
  }
  throw new Failure(`Operation \`(iter)\` not supported on type \`${typeName(value)}\``);
}
