/** The methods of lists and dicts. Those that change something refuse while a loop goes through it. */

import { areEqual } from "./equality.ts";
import { Failure } from "./failure.ts";
import { builtin, parameters } from "./signature.ts";
import { iterate } from "./subscripts.ts";
import { quotedValue } from "./text.ts";
import { Builtin, Dict, List, type Machine, Tuple, type Value } from "./values.ts";

type Method<Owner> = (owner: Owner) => Builtin;

export const LIST_METHODS: ReadonlyMap<string, Method<List>> = new Map([
  method<List>("append", ["el: any"], (list, [item], { budget }) => {
    list.checkMutable();
    budget.cells(1);
    list.items.push(item!);
    return null;
  }),
  method<List>("clear", [], (list) => {
    list.checkMutable();
    list.items.length = 0;
    return null;
  }),
  method<List>("extend", ["other: any"], (list, [other], { budget }) => {
    list.checkMutable();
    const items = [...iterate(other!, budget)];
    budget.cells(items.length);
    for (const item of items) list.items.push(item);
    return null;
  }),
  method<List>(
    "index",
    ["needle: any", "start: int | None?", "end: int | None?"],
    (list, [needle, start, end], { budget }) => {
      const { length } = list.items;
      const clamp = (value: Value | undefined, whenAbsent: number) => {
        if (typeof value !== "bigint") return whenAbsent;
        return Math.min(length, Math.max(0, Number(value) < 0 ? Number(value) + length : Number(value)));
      };
      for (let at = clamp(start, 0); at < clamp(end, length); at++) {
        if (areEqual(list.items[at]!, needle!, budget)) return BigInt(at);
      }
      throw new Failure(`Element '${quotedValue(needle!)}' not found in '${quotedValue(list)}'`);
    },
  ),
  method<List>("insert", ["index: int", "el: any"], (list, [index, item], { budget }) => {
    list.checkMutable();
    budget.cells(1);
    budget.step(list.items.length >> 4);
    const { length } = list.items;
    const wanted = Number(index) < 0 ? Number(index) + length : Number(index);
    list.items.splice(Math.min(length, Math.max(0, wanted)), 0, item!);
    return null;
  }),
  method<List>("pop", ["index: int?"], (list, [index], { budget }) => {
    list.checkMutable();
    budget.step(list.items.length >> 4);
    const at = index === undefined ? list.items.length - 1 : Number(index);
    if (at < 0 || at >= list.items.length) throw new Failure(`Index \`${at}\` is out of bound`);
    return list.items.splice(at, 1)[0]!;
  }),
  method<List>("remove", ["needle: any"], (list, [needle], { budget }) => {
    list.checkMutable();
    const at = list.items.findIndex((item) => areEqual(item, needle!, budget));
    if (at < 0) throw new Failure(`Element '${quotedValue(needle!)}' not found in list '${quotedValue(list)}'`);
    list.items.splice(at, 1);
    return null;
  }),
]);

export const DICT_METHODS: ReadonlyMap<string, Method<Dict>> = new Map([
  method<Dict>("clear", [], (dict) => {
    dict.clear();
    return null;
  }),
  method<Dict>("get", ["key: any", "default: any?"], (dict, [key, whenAbsent = null], { budget }) => {
    const value = dict.get(key!, budget);
    return value === undefined ? whenAbsent : value;
  }),
  method<Dict>("items", [], (dict, _, { budget }) => {
    budget.cells(3 * dict.size);
    return new List(dict.entries().map(({ key, value }) => new Tuple([key, value])));
  }),
  method<Dict>("keys", [], (dict, _, { budget }) => {
    budget.cells(dict.size);
    return new List(dict.keys());
  }),
  method<Dict>("pop", ["key: any", "default: any?"], (dict, [key, whenAbsent], { budget }) => {
    dict.checkMutable();
    const present = dict.get(key!, budget);
    const value = present === undefined ? whenAbsent : present;
    if (value === undefined) {
      throw new Failure(`Key \`${quotedValue(key!)}\` not found in dictionary \`${quotedValue(dict)}\``);
    }
    dict.delete(key!, budget);
    return value;
  }),
  method<Dict>("popitem", [], (dict, _, { budget }) => {
    budget.step(dict.size >> 4);
    const [first] = dict.entries();
    if (first === undefined) throw new Failure("Cannot .popitem() on an empty dictionary");
    dict.delete(first.key, budget);
    return new Tuple([first.key, first.value]);
  }),
  method<Dict>("setdefault", ["key: any", "default: any?"], (dict, [key, value = null], { budget }) => {
    const present = dict.get(key!, budget);
    if (present !== undefined) return present;
    dict.set(key!, value, budget);
    return value;
  }),
  [
    "update",
    (dict: Dict) =>
      new Builtin("update", ({ positional, named }, { budget }) => {
        if (positional.length > 1) throw new Failure("Found extra positional argument(s) for call to update");
        if (positional[0] !== undefined) addPairs(dict, positional[0], budget, "update()");
        for (const [key, value] of named) dict.set(key, value, budget);
        return null;
      }),
  ],
  method<Dict>("values", [], (dict, _, { budget }) => {
    budget.cells(dict.size);
    return new List(dict.entries().map(({ value }) => value));
  }),
]);

/** Adds the entries of another dict, or of a list of pairs. */
export function addPairs(dict: Dict, pairs: Value, budget: Machine["budget"], callee: string): void {
  if (pairs instanceof Dict) {
    for (const { key, value } of pairs.entries()) dict.set(key, value, budget);
    return;
  }
  for (const pair of iterate(pairs, budget)) {
    const parts = pair instanceof List || pair instanceof Tuple ? pair.items : [];
    if (parts.length !== 2) {
      throw new Failure(
        `Found a non-pair element in the positional argument of ${callee}: ${quotedValue(pair)}`,
      );
    }
    dict.set(parts[0]!, parts[1]!, budget);
  }
}

function method<Owner>(
  name: string,
  specs: string[],
  run: (owner: Owner, values: (Value | undefined)[], machine: Machine) => Value,
): [string, Method<Owner>] {
  const taken = parameters(...specs);
  return [name, (owner) => builtin(name, taken, (values, machine) => run(owner, values, machine))];
}
