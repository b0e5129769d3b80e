/**
 * The values of the language: `None` is null, booleans and strings are themselves, integers are bigints, floats are
 * numbers, and everything else is a class of this file. What can be done with them is elsewhere.
 */

import { MAX_VALUE_DEPTH } from "../limits.ts";
import type { Budget } from "./budget.ts";
import { Failure } from "./failure.ts";
import type { Position } from "./source_text.ts";
import type { FunctionNode } from "./syntax.ts";

export type Value =
  | null
  | boolean
  | bigint
  | number
  | string
  | List
  | Tuple
  | Dict
  | Range
  | Sequence
  | Ellipsis
  | TypeValue
  | Builtin
  | UserFunction;

/** What may be changed, but not while a loop goes through it. */
abstract class Mutable {
  /** How many loops go through it now. */
  loops = 0;

  checkMutable(): void {
    if (this.loops > 0) throw new Failure("This operation mutates an iterable for an iterator while iterating.");
  }
}

export class List extends Mutable {
  readonly items: Value[];

  constructor(items: Value[]) {
    super();
    this.items = items;
  }
}

export class Tuple {
  readonly items: readonly Value[];

  constructor(items: readonly Value[]) {
    this.items = items;
  }
}

/** What `elems()` and `codepoints()` give: something to go through, and nothing else. */
export class Sequence {
  readonly members: readonly Value[];

  constructor(members: readonly Value[]) {
    this.members = members;
  }
}

/** Keeps the order in which keys were added. */
export class Dict extends Mutable {
  readonly #entries = new Map<string, { readonly key: Value; value: Value }>();

  get size(): number {
    return this.#entries.size;
  }

  get(key: Value, budget: Budget): Value | undefined {
    return this.#entries.get(hashKey(key, budget))?.value;
  }

  has(key: Value, budget: Budget): boolean {
    return this.#entries.has(hashKey(key, budget));
  }

  /**
   * Adds the key, or gives it a new value. False: the key was already there. Takes the room for a new key from the
   * budget.
   */
  set(key: Value, value: Value, budget: Budget): boolean {
    const hash = hashKey(key, budget);
    const entry = this.#entries.get(hash);
    if (entry === undefined) {
      this.checkMutable();
      budget.cells(2);
      this.#entries.set(hash, { key, value });
    } else entry.value = value;
    return entry === undefined;
  }

  delete(key: Value, budget: Budget): void {
    this.checkMutable();
    this.#entries.delete(hashKey(key, budget));
  }

  clear(): void {
    this.checkMutable();
    this.#entries.clear();
  }

  keys(): Value[] {
    return Array.from(this.#entries.values(), ({ key }) => key);
  }

  entries(): { readonly key: Value; readonly value: Value }[] {
    return [...this.#entries.values()];
  }
}

export class Range {
  readonly start: number;
  readonly stop: number;
  readonly step: number;

  constructor(start: number, stop: number, step: number) {
    this.start = start;
    this.stop = stop;
    this.step = step;
  }

  get length(): number {
    return Math.max(0, Math.ceil((this.stop - this.start) / this.step));
  }
}

export class Ellipsis {
  readonly kind = "ellipsis";
}

export const ELLIPSIS: Ellipsis = new Ellipsis();

/** A type made of others, for annotations: `list[str]`, `int | None`. */
export class TypeValue {
  readonly text: string;
  readonly matches: (value: Value) => boolean;

  constructor(text: string, matches: (value: Value) => boolean) {
    this.text = text;
    this.matches = matches;
  }
}

/** The arguments of one call. */
export interface CallArguments {
  readonly positional: readonly Value[];
  readonly named: ReadonlyMap<string, Value>;
}

/** What built-ins may ask of the evaluator. */
export interface Machine {
  readonly budget: Budget;
  /** Where in the file the current call is. */
  place(): Position;
  call(callee: Value, args: CallArguments): Value;
}

export class Builtin {
  readonly name: string;
  readonly run: (args: CallArguments, machine: Machine) => Value;

  constructor(name: string, run: (args: CallArguments, machine: Machine) => Value) {
    this.name = name;
    this.run = run;
  }
}

/** The variables of one call, or of the file; undefined until assigned. */
export interface Frame {
  readonly slots: (Value | undefined)[];
  readonly outer: Frame | null;
  readonly slotNames: readonly string[];
}

export interface FunctionParts {
  readonly definition: FunctionNode;
  /** By parameter; undefined where there is none. */
  readonly defaults: readonly (Value | undefined)[];
  readonly types: readonly (TypeValue | null)[];
  readonly returnType: TypeValue | null;
  /** Where it was defined. */
  readonly frame: Frame;
  /** `FILE.NAME`, as errors say. */
  readonly name: string;
}

export class UserFunction {
  readonly parts: FunctionParts;

  constructor(parts: FunctionParts) {
    this.parts = parts;
  }

  get name(): string {
    return this.parts.name;
  }
}

/** The name `type()` gives. */
export function typeName(value: Value): string {
  switch (typeof value) {
    case "boolean":
      return "bool";
    case "bigint":
      return "int";
    case "number":
      return "float";
    case "string":
      return "string";
  }
  if (value === null) return "NoneType";
  if (value instanceof List) return "list";
  if (value instanceof Tuple) return "tuple";
  if (value instanceof Dict) return "dict";
  if (value instanceof Range) return "range";
  if (value instanceof Sequence) return "iterator";
  if (value instanceof Ellipsis) return "ellipsis";
  return value instanceof TypeValue ? "type" : "function";
}

export function isTrue(value: Value): boolean {
  if (typeof value !== "object") return Boolean(value);
  if (value instanceof List || value instanceof Tuple) return value.items.length > 0;
  if (value instanceof Dict) return value.size > 0;
  if (value instanceof Range) return value.length > 0;
  return value !== null;
}

const identities = new WeakMap<object, number>();
let lastIdentity = 0;

/** A text that equal keys share and others do not. Lists and dicts have none: they change. */
function hashKey(value: Value, budget: Budget, depth = 0): string {
  budget.step();
  switch (typeof value) {
    case "string":
      budget.step(value.length >> 5);
      return `s${value}`;
    case "bigint":
      return `n${value}`;
    case "number":
      // A float that is whole is the same key as the integer.
      return Number.isInteger(value) ? `n${BigInt(value)}` : `f${value}`;
    case "boolean":
      return `b${value}`;
  }
  if (value === null) return "N";
  if (value instanceof Tuple) {
    if (depth > MAX_VALUE_DEPTH) throw new Failure("Too many recursion levels");
    budget.step(value.items.length);
    const keys = value.items.map((item) => hashKey(item, budget, depth + 1));
    return `t${keys.map((key) => `${key.length}:${key}`).join("")}`;
  }
  if (value instanceof Builtin || value instanceof UserFunction) {
    if (!identities.has(value)) identities.set(value, ++lastIdentity);
    return `o${identities.get(value)}`;
  }
  throw new Failure(`Value of type \`${typeName(value)}\` is not hashable`);
}
