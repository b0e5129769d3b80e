/** Type annotations: `str`, `int | None`, `list[str]`, `dict[str, int]`. Checked when a call or assignment happens. */

import { Failure } from "./failure.ts";
import { quotedValue } from "./text.ts";
import { Builtin, Dict, ELLIPSIS, List, Tuple, typeName, TypeValue, type Value } from "./values.ts";

/** The built-ins that are types as well, with the name `type()` gives their values. */
const NAMED_TYPES: ReadonlyMap<string, string> = new Map([
  ["str", "string"],
  ...["int", "bool", "float", "list", "dict", "tuple", "range"].map((name): [string, string] => [name, name]),
]);

/** What an annotation stands for; throws when it is not a type. */
export function typeOf(value: Value): TypeValue {
  const type = typeOrNull(value);
  if (type !== null) return type;
  throw new Failure(`Type annotation must be a type like \`str\` or \`list[str]\`, got \`${quotedValue(value)}\``);
}

function typeOrNull(value: Value): TypeValue | null {
  if (value === null) return new TypeValue("None", (candidate) => candidate === null);
  if (value instanceof TypeValue) return value;
  if (!(value instanceof Builtin)) return null;
  const name = NAMED_TYPES.get(value.name);
  return name === undefined ? null : new TypeValue(value.name, (candidate) => typeName(candidate) === name);
}

/** `int | str`; null when these are not types, and the operator means something else. */
export function unionOf(left: Value, right: Value): TypeValue | null {
  if (left === null && right === null) return null;
  const [a, b] = [typeOrNull(left), typeOrNull(right)];
  if (a === null || b === null) return null;
  return new TypeValue(`${a.text} | ${b.text}`, (value) => a.matches(value) || b.matches(value));
}

/** `list[str]`; null when it is not a type, and the brackets mean something else. */
export function genericOf(base: Value, index: Value): TypeValue | null {
  if (!(base instanceof Builtin) || !["list", "dict", "tuple"].includes(base.name)) return null;
  const isOpen = index instanceof Tuple && index.items.at(-1) === ELLIPSIS;
  const types = (index instanceof Tuple ? index.items : [index]).filter((item) => item !== ELLIPSIS).map(typeOf);
  const [first, second] = types;
  const text = `${base.name}[${types.map((type) => type.text).join(", ")}${isOpen ? ", ..." : ""}]`;
  if (base.name === "list" && types.length === 1) {
    return new TypeValue(text, (value) => value instanceof List && value.items.every(first!.matches));
  }
  if (base.name === "dict" && types.length === 2) {
    const isEntry = (entry: { key: Value; value: Value }) => first!.matches(entry.key) && second!.matches(entry.value);
    return new TypeValue(text, (value) => value instanceof Dict && value.entries().every(isEntry));
  }
  if (base.name !== "tuple" || (isOpen && types.length !== 1)) return null;
  return new TypeValue(text, (value) => {
    if (!(value instanceof Tuple)) return false;
    if (isOpen) return value.items.every(first!.matches);
    return value.items.length === types.length && value.items.every((item, at) => types[at]!.matches(item));
  });
}

export function checkType(value: Value, type: TypeValue, use: string): void {
  if (type.matches(value)) return;
  const shown = typeof value === "string" ? value : quotedValue(value);
  throw new Failure(
    `Value \`${shown}\` of type \`${typeName(value)}\` does not match the type annotation \`${type.text}\` for ${use}`,
  );
}
