/** The functions every file has: the reference's, without those for bytes. None of them reaches outside of the file. */

import { addPairs, DICT_METHODS, LIST_METHODS } from "./collection_methods.ts";
import { compare } from "./equality.ts";
import { Failure } from "./failure.ts";
import { numberFunctions } from "./number_builtins.ts";
import { builtin, parameters } from "./signature.ts";
import { STRING_METHODS } from "./string_methods.ts";
import { characterCount, iterate } from "./subscripts.ts";
import { quotedValue, textOf, writtenOut } from "./text.ts";
import { Builtin, Dict, isTrue, List, type Machine, Range, Tuple, typeName, type Value } from "./values.ts";

/** An attribute, which is always a method; undefined when there is none of that name. */
export function attribute(object: Value, name: string): Value | undefined {
  if (typeof object === "string") return STRING_METHODS.get(name)?.(object);
  if (object instanceof List) return LIST_METHODS.get(name)?.(object);
  if (object instanceof Dict) return DICT_METHODS.get(name)?.(object);
}

function attributeNames(object: Value): string[] {
  const methods = typeof object === "string"
    ? STRING_METHODS
    : object instanceof List
    ? LIST_METHODS
    : object instanceof Dict
    ? DICT_METHODS
    : new Map<string, unknown>();
  return [...methods.keys()].sort();
}

export function standardBuiltins(): Map<string, Value> {
  const functions: Builtin[] = [
    ...numberFunctions(),
    define("all", ["x: any"], ([list], { budget }) => counted(list!, budget).every(isTrue)),
    define("any", ["x: any"], ([list], { budget }) => counted(list!, budget).some(isTrue)),
    define("bool", ["x: any?"], ([value = false]) => isTrue(value)),
    new Builtin("dict", ({ positional, named }, { budget }) => {
      if (positional.length > 1) throw new Failure("Found extra positional argument(s) for call to dict");
      const dict = new Dict();
      if (positional[0] !== undefined) addPairs(dict, positional[0], budget, "dict()");
      for (const [key, value] of named) dict.set(key, value, budget);
      return dict;
    }),
    define("dir", ["x: any"], ([object]) => new List(attributeNames(object!))),
    define("enumerate", ["it: any", "start: int?="], ([list, start = 0n], { budget }) => {
      const items = counted(list!, budget);
      budget.cells(3 * items.length);
      return new List(items.map((item, index) => new Tuple([BigInt(index) + (start as bigint), item])));
    }),
    new Builtin("fail", ({ positional }) => {
      throw new Failure(`fail: ${positional.map((value) => textOf(value).slice(0, 1000)).join(" ")}`);
    }),
    define("getattr", ["a: any", "attr: str", "default: any?"], ([object, name, whenAbsent]) => {
      const value = attribute(object!, name as string) ?? whenAbsent;
      if (value !== undefined) return value;
      throw new Failure(`Operation \`.${name}\` not supported on type \`${typeName(object!)}\``);
    }),
    define("hasattr", ["a: any", "attr: str"], ([object, name]) => attribute(object!, name as string) !== undefined),
    define("len", ["a: any"], ([value], { budget }) => BigInt(lengthOf(value!, budget))),
    define("list", ["a: any?"], ([source], { budget }) => new List([...counted(source ?? new List([]), budget)])),
    extreme("max", (order) => order > 0),
    extreme("min", (order) => order < 0),
    define("range", ["a1: int", "a2: int?", "step: int?"], ([first, second, step = 1n]) => {
      if (step === 0n) throw new Failure("Third argument of range (step) cannot be zero");
      const [start, stop] = second === undefined ? [0n, first] : [first, second];
      return new Range(bounded(start!), bounded(stop!), bounded(step));
    }),
    define("repr", ["a: any"], ([value], { budget }) => charged(writtenOut(value!), budget)),
    define("reversed", ["a: any"], ([list], { budget }) => new List([...counted(list!, budget)].reverse())),
    define("sorted", ["x: any", "key: any?=", "reverse: bool?="], sorted),
    define("str", ["a: any"], ([value], { budget }) => charged(textOf(value!), budget)),
    define("tuple", ["a: any?"], ([source], { budget }) => new Tuple([...counted(source ?? new List([]), budget)])),
    define("type", ["a: any"], ([value]) => typeName(value!)),
    new Builtin("zip", ({ positional }, { budget }) => {
      const lists = positional.map((list) => counted(list, budget));
      const length = lists.length === 0 ? 0 : Math.min(...lists.map((list) => list.length));
      budget.cells(length * (lists.length + 1));
      return new List(Array.from({ length }, (_, index) => new Tuple(lists.map((list) => list[index]!))));
    }),
  ];
  return new Map<string, Value>([
    ["None", null],
    ["True", true],
    ["False", false],
    ...functions.map((made): [string, Value] => [made.name, made]),
  ]);
}

function define(
  name: string,
  specs: string[],
  run: (values: (Value | undefined)[], machine: Machine) => Value,
): Builtin {
  return builtin(name, parameters(...specs), run);
}

/** The items that a built-in goes through, charged to the budget. */
function counted(list: Value, budget: Machine["budget"]): readonly Value[] {
  const items = iterate(list, budget);
  budget.cells(items.length);
  return items;
}

function charged(text: string, budget: Machine["budget"]): string {
  budget.text(text.length);
  return text;
}

function bounded(value: Value): number {
  const number = Number(value);
  if (Math.abs(number) < 2 ** 31) return number;
  throw new Failure(`Integer value is too big to fit in i32: ${quotedValue(value)}`);
}

function lengthOf(value: Value, budget: Machine["budget"]): number {
  if (typeof value === "string") {
    budget.step(value.length >> 4);
    return characterCount(value);
  }
  if (value instanceof List || value instanceof Tuple) return value.items.length;
  if (value instanceof Dict) return value.size;
  if (value instanceof Range) return value.length;
  throw new Failure(`Operation \`len()\` not supported on type \`${typeName(value)}\``);
}

/** `max` and `min`: of the arguments, or of the list if it is the only argument. The first of equals wins. */
function extreme(name: string, isBetter: (order: number) => boolean): Builtin {
  return new Builtin(name, ({ positional, named }, machine) => {
    const { budget } = machine;
    for (const key of named.keys()) {
      if (key !== "key") throw new Failure(`Found \`${key}\` extra named parameter(s) for call to ${name}`);
    }
    const items = positional.length === 1 ? counted(positional[0]!, budget) : positional;
    const key = named.get("key");
    const rank = (item: Value) => {
      return key === undefined ? item : machine.call(key, { positional: [item], named: new Map() });
    };
    if (items.length === 0) {
      throw new Failure(`Argument is an empty iterable, ${name}() expect a non empty iterable`);
    }
    let best: Value = items[0]!;
    let bestRank = rank(best);
    for (const item of items.slice(1)) {
      const itemRank = rank(item);
      if (isBetter(compare(itemRank, bestRank, budget))) [best, bestRank] = [item, itemRank];
    }
    return best;
  });
}

function sorted([list, key, reverse = false]: (Value | undefined)[], machine: Machine): Value {
  const { budget } = machine;
  const items = [...counted(list!, budget)];
  const isKeyed = key !== undefined && key !== null;
  const ranked = items.map((item) => ({
    item,
    rank: isKeyed ? machine.call(key, { positional: [item], named: new Map() }) : item,
  }));
  ranked.sort((a, b) => reverse ? compare(b.rank, a.rank, budget) : compare(a.rank, b.rank, budget));
  return new List(ranked.map(({ item }) => item));
}
