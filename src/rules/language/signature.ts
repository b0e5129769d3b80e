/** What a built-in takes, and the complaints when it is given something else, in the reference's words. */

import { Failure } from "./failure.ts";
import { quotedValue } from "./text.ts";
import { Builtin, type CallArguments, List, type Machine, typeName, type Value } from "./values.ts";

/** Types a parameter may ask for, as errors name them. */
const TYPES = {
  str: (value: Value) => typeof value === "string",
  int: (value: Value) => typeof value === "bigint",
  bool: (value: Value) => typeof value === "boolean",
  list: (value: Value) => value instanceof List,
  any: () => true,
  "int | None": (value: Value) => value === null || typeof value === "bigint",
  "str | None": (value: Value) => value === null || typeof value === "string",
  "float | int": (value: Value) => typeof value === "bigint" || typeof value === "number",
} satisfies Record<string, (value: Value) => boolean>;

export interface BuiltinParameter {
  readonly name: string;
  readonly type: keyof typeof TYPES;
  readonly isOptional: boolean;
  /** Whether `name=value` may be written. */
  readonly canBeNamed: boolean;
}

/** `"sep: str | None?"`: name, type, and a question mark for one that may be left out. `=` behind it: may be named. */
export function parameters(...specs: string[]): BuiltinParameter[] {
  return specs.map((spec) => {
    const [, name = "", type = "", marks = ""] = /^(\w+): ([\w |]+?)([?=]*)$/.exec(spec) ?? [];
    if (!Object.hasOwn(TYPES, type)) throw new RangeError(`no such parameter: ${spec}`);
    return {
      name,
      type: type as keyof typeof TYPES,
      isOptional: marks.includes("?"),
      canBeNamed: marks.includes("="),
    };
  });
}

/** A built-in with parameters. What is left out is undefined. */
export function builtin(
  name: string,
  taken: readonly BuiltinParameter[],
  run: (values: (Value | undefined)[], machine: Machine) => Value,
): Builtin {
  return new Builtin(name, (args, machine) => run(bindBuiltin(name, taken, args), machine));
}

function bindBuiltin(
  name: string,
  taken: readonly BuiltinParameter[],
  { positional, named }: CallArguments,
): (Value | undefined)[] {
  if (positional.length > taken.length) {
    const extra = positional.length - taken.length;
    throw new Failure(`Found ${extra} extra positional argument(s) for call to ${name}`);
  }
  const values: (Value | undefined)[] = taken.map((_, index) => positional[index]);
  const unknown: string[] = [];
  for (const [key, value] of named) {
    const index = taken.findIndex((parameter) => parameter.canBeNamed && parameter.name === key);
    if (index < 0) unknown.push(`\`${key}\``);
    else if (values[index] !== undefined) throw new Failure(`Argument \`${key}\` occurs more than once`);
    else values[index] = value;
  }
  const missing = taken.find(({ isOptional }, index) => !isOptional && values[index] === undefined);
  if (missing !== undefined) throw new Failure(`Missing parameter \`${missing.name}\` for call to \`${name}\``);
  if (unknown.length > 0) {
    throw new Failure(`Found ${unknown.join(" ")} extra named parameter(s) for call to ${name}`);
  }
  taken.forEach(({ name: parameter, type }, index) => {
    const value = values[index];
    if (value !== undefined && !TYPES[type](value)) throw wrongType(parameter, type, value);
  });
  return values;
}

export function wrongType(parameter: string, expected: string, value: Value): Failure {
  const actual = `${typeName(value)} (repr: ${quotedValue(value)})`;
  return new Failure(
    `Type of parameter \`${parameter}\` doesn't match, expected \`${expected}\`, actual \`${actual}\``,
  );
}
