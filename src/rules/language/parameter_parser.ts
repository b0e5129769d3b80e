/**
 * Parameters of functions and arguments of calls, with the rules about their order.
 *
 * Calls and lambdas are expressions, and hold some: this file and `expression_parser.ts` import each other, as the grammar
 * does. Neither uses the other while it is loaded.
 */

import { parseTest } from "./expression_parser.ts";
import { Failure } from "./failure.ts";
import type { Argument, Expression, Parameter } from "./syntax.ts";
import type { TokenReader } from "./token_reader.ts";

export interface ParameterStyle {
  /** The symbol after the last parameter. */
  readonly end: ")" | ":";
  /** Whether `name: type` may be written. */
  readonly hasTypes: boolean;
}

export function parseParameters(reader: TokenReader, style: ParameterStyle): Parameter[] {
  const parameters: Parameter[] = [];
  const names = new Set<string>();
  while (!reader.isWord(style.end)) {
    const parameter = parseParameter(reader, style);
    if (names.has(parameter.name)) throw new Failure("duplicated parameter name", parameter);
    if (parameter.name !== "") names.add(parameter.name);
    checkOrder(parameters, parameter);
    parameters.push(parameter);
    if (!reader.take(",")) break;
  }
  if (parameters.at(-1)?.kind === "bare star") {
    throw new Failure("`*` must be followed by a named parameter", parameters.at(-1)!);
  }
  return parameters;
}

function parseParameter(reader: TokenReader, { hasTypes }: ParameterStyle): Parameter {
  const { start } = reader.peek();
  const type = (): Expression | null => hasTypes && reader.take(":") ? parseTest(reader) : null;
  const named = (kind: "args" | "kwargs"): Parameter => {
    const name = reader.expectKind("name", "identifier").text;
    return { kind, name, type: type(), defaultValue: null, start, end: reader.end };
  };
  if (reader.isWord("/")) {
    throw new Failure("/ positional-only-arguments is not allowed in this dialect", reader.peek());
  }
  if (reader.take("**")) return named("kwargs");
  if (reader.take("*")) {
    if (reader.peek().kind === "name") return named("args");
    return { kind: "bare star", name: "", type: null, defaultValue: null, start, end: reader.end };
  }
  const name = reader.expectKind("name", "identifier").text;
  const annotation = type();
  const defaultValue = reader.take("=") ? parseTest(reader) : null;
  return { kind: "normal", name, type: annotation, defaultValue, start, end: reader.end };
}

function checkOrder(before: readonly Parameter[], parameter: Parameter): void {
  const has = (kind: Parameter["kind"]) => before.some((earlier) => earlier.kind === kind);
  if (has("kwargs")) throw new Failure("Parameter after kwargs", parameter);
  const isStarred = has("args") || has("bare star");
  if (parameter.kind === "args" || parameter.kind === "bare star") {
    if (isStarred) throw new Failure("Args parameter after another args or kwargs parameter", parameter);
  } else if (parameter.kind === "normal" && parameter.defaultValue === null && !isStarred) {
    // After a star, parameters are given by name, so their order is free.
    if (before.some(({ defaultValue }) => defaultValue !== null)) {
      throw new Failure("positional parameter after non positional", parameter);
    }
  }
}

/** The arguments up to the closing parenthesis, which is not read. */
export function parseArguments(reader: TokenReader): Argument[] {
  const args: Argument[] = [];
  const names = new Set<string>();
  while (!reader.isWord(")")) {
    const argument = parseArgument(reader);
    checkArgumentOrder(args, argument);
    if (argument.kind === "named") {
      if (names.has(argument.name!)) throw new Failure("repeated named argument", argument);
      names.add(argument.name!);
    }
    args.push(argument);
    if (!reader.take(",")) break;
  }
  return args;
}

function parseArgument(reader: TokenReader): Argument {
  const { start, kind, text } = reader.peek();
  const made = (kind: Argument["kind"], name: string | null): Argument => {
    const value = parseTest(reader);
    return { kind, name, value, start, end: reader.end };
  };
  if (reader.take("**")) return made("kwargs", null);
  if (reader.take("*")) return made("args", null);
  const second = reader.peekSecond();
  if (kind !== "name" || second?.kind !== "word" || second.text !== "=") return made("positional", null);
  reader.next();
  reader.next();
  return made("named", text);
}

function checkArgumentOrder(before: readonly Argument[], argument: Argument): void {
  const has = (...kinds: Argument["kind"][]) => before.some(({ kind }) => kinds.includes(kind));
  switch (argument.kind) {
    case "positional":
      if (has("named", "args", "kwargs")) throw new Failure("positional argument after non positional", argument);
      break;
    case "named":
      if (has("args", "kwargs")) throw new Failure("named argument after *args or **kwargs", argument);
      break;
    case "args":
      if (has("args", "kwargs")) throw new Failure("Args array after another args or kwargs", argument);
      break;
    case "kwargs":
      if (has("kwargs")) throw new Failure("Multiple kwargs dictionary in arguments", argument);
  }
}
