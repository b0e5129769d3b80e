/** The arguments of a call: spread out of lists and dicts, and put into the slots of a function's frame. */

import type { Budget } from "./budget.ts";
import { Failure } from "./failure.ts";
import { checkType } from "./types.ts";
import { iterate } from "./subscripts.ts";
import { type CallArguments, Dict, type Frame, List, Tuple, type UserFunction, type Value } from "./values.ts";

export function bindArguments(callee: UserFunction, args: CallArguments, budget: Budget): Frame {
  const { definition, defaults, types, name, frame: outer } = callee.parts;
  const { positional, named } = args;
  const slots = new Array<Value | undefined>(definition.frameSize).fill(undefined);
  const taken = definition.parameters.filter(({ kind }) => kind !== "bare star");
  const waiting = new Map(named);
  let used = 0;
  let isNamedOnly = false;
  let slot = 0;
  for (const [index, parameter] of definition.parameters.entries()) {
    if (parameter.kind === "bare star") {
      isNamedOnly = true;
      continue;
    }
    let value: Value | undefined;
    if (parameter.kind === "args") {
      budget.cells(positional.length);
      value = new Tuple(positional.slice(used));
      used = positional.length;
      isNamedOnly = true;
    } else if (parameter.kind === "kwargs") {
      const rest = new Dict();
      for (const [key, given] of waiting) rest.set(key, given, budget);
      waiting.clear();
      value = rest;
    } else {
      if (!isNamedOnly && used < positional.length) {
        value = positional[used++];
        if (waiting.has(parameter.name)) throw new Failure(`Argument \`${parameter.name}\` occurs more than once`);
      } else if (waiting.has(parameter.name)) {
        value = waiting.get(parameter.name);
        waiting.delete(parameter.name);
      } else value = defaults[index];
      if (value === undefined) {
        const kind = isNamedOnly ? "named-only parameter" : "parameter";
        throw new Failure(`Missing ${kind} \`${parameter.name}\` for call to \`${name}\``);
      }
      const type = types[index];
      if (type) checkType(value, type, `argument \`${parameter.name}\``);
    }
    slots[slot++] = value;
  }
  if (used < positional.length) {
    throw new Failure(`Found ${positional.length - used} extra positional argument(s) for call to ${name}`);
  }
  if (waiting.size > 0) {
    const names = Array.from(waiting.keys(), (key) => `\`${key}\``).join(" ");
    throw new Failure(`Found ${names} extra named parameter(s) for call to ${name}`);
  }
  budget.cells(taken.length);
  return { slots, outer, slotNames: definition.slotNames };
}

/** `*value`: its members, as positional arguments. */
export function spreadPositional(value: Value, positional: Value[], budget: Budget): void {
  if (!(value instanceof List) && !(value instanceof Tuple) && !(value instanceof Dict)) {
    throw new Failure("The argument provided for *args is not iterable");
  }
  const items = iterate(value, budget);
  budget.cells(items.length);
  for (const item of items) positional.push(item);
}

/** `**value`: its entries, as arguments by name. */
export function spreadNamed(value: Value, named: Map<string, Value>, budget: Budget): void {
  if (!(value instanceof Dict)) throw new Failure("The argument provided for **kwargs is not a dictionary");
  for (const { key, value: given } of value.entries()) {
    if (typeof key !== "string") throw new Failure("The argument provided for **kwargs has keys that are not strings");
    if (named.has(key)) throw new Failure(`Argument \`${key}\` occurs more than once`);
    budget.cells(2);
    named.set(key, given);
  }
}
