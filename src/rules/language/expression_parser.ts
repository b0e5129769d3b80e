/** Tokens -> expressions, by the precedence of Python. Comparisons do not associate: `a < b < c` is an error. */

import { MAX_NESTING } from "../limits.ts";
import { Failure } from "./failure.ts";
import { parseArguments, parseParameters } from "./parameter_parser.ts";
import type { BinaryOperator, Clause, Expression, Target } from "./syntax.ts";
import { type TokenReader, tooDeep } from "./token_reader.ts";

const COMPARISONS: ReadonlySet<string> = new Set(["==", "!=", "<", ">", "<=", ">=", "in"]);

/** Operators that associate to the left, loosest first. */
const LEVELS: readonly (readonly BinaryOperator[])[] = [
  ["|"],
  ["^"],
  ["&"],
  ["<<", ">>"],
  ["+", "-"],
  ["*", "/", "//", "%"],
];

/** An expression without a bare comma. */
export function parseTest(reader: TokenReader): Expression {
  return reader.deeper(() => {
    if (reader.isWord("lambda")) return parseLambda(reader);
    const start = reader.peek().start;
    const then = parseOr(reader);
    if (!reader.take("if")) return then;
    const test = parseOr(reader);
    if (!reader.isWord("else")) throw reader.unexpected("keyword 'else'");
    reader.next();
    const otherwise = parseTest(reader);
    return { kind: "if", test, then, otherwise, start, end: reader.end };
  });
}

/** One expression, or several with commas: then a tuple. */
export function parseTestList(reader: TokenReader, parse: (reader: TokenReader) => Expression = parseTest): Expression {
  const start = reader.peek().start;
  const first = parse(reader);
  if (!reader.isWord(",")) return first;
  const items = [first];
  while (reader.take(",") && beginsExpression(reader)) items.push(parse(reader));
  return { kind: "tuple", items, start, end: reader.end };
}

/** What follows `for`. It ends before `in`. */
export function parseLoopTarget(reader: TokenReader): Target {
  return asTarget(parseTestList(reader, (inner) => inner.deeper(() => parseBinary(inner, 0))));
}

/** An expression as something that can be assigned to. */
export function asTarget(expression: Expression): Target {
  switch (expression.kind) {
    case "name":
    case "index":
    case "dot":
      return expression;
    case "list":
    case "tuple": {
      const { start, end } = expression;
      return { kind: "targets", items: expression.items.map(asTarget), start, end };
    }
    default:
      throw new Failure("left-hand-side of assignment must take the form `a`, `a.b` or `a[b]`", expression);
  }
}

function beginsExpression(reader: TokenReader): boolean {
  const { kind, text } = reader.peek();
  if (reader.isAtEnd) return false;
  if (kind === "word") return ["(", "[", "{", "-", "+", "~", "not", "lambda", "..."].includes(text);
  return kind === "name" || kind === "int" || kind === "float" || kind === "string" || kind === "fstring";
}

function parseLambda(reader: TokenReader): Expression {
  const start = reader.expect("lambda").start;
  const parameters = parseParameters(reader, { end: ":", hasTypes: false });
  reader.expect(":");
  const value = parseTest(reader);
  const span = { start, end: reader.end };
  const body = [{ kind: "return" as const, value, start: value.start, end: value.end }];
  const definition = { name: "lambda", parameters, returnType: null, body, frameSize: 0, slotNames: [], ...span };
  return { kind: "lambda", definition, ...span };
}

function parseOr(reader: TokenReader): Expression {
  let left = parseAnd(reader);
  while (reader.take("or")) {
    left = { kind: "or", left, right: parseAnd(reader), start: left.start, end: reader.end };
  }
  return left;
}

function parseAnd(reader: TokenReader): Expression {
  let left = parseNot(reader);
  while (reader.take("and")) {
    left = { kind: "and", left, right: parseNot(reader), start: left.start, end: reader.end };
  }
  return left;
}

function parseNot(reader: TokenReader): Expression {
  if (!reader.isWord("not")) return parseComparison(reader);
  const { start } = reader.next();
  const operand = reader.deeper(() => parseNot(reader));
  return { kind: "not", operand, start, end: reader.end };
}

function parseComparison(reader: TokenReader): Expression {
  const left = parseBinary(reader, 0);
  const operator = takeComparison(reader);
  if (operator === null) return left;
  const right = parseBinary(reader, 0);
  const { kind, text } = reader.peek();
  if (kind === "word" && (COMPARISONS.has(text) || text === "not") && !reader.isAtEnd) {
    throw reader.unexpected("end of expression (comparisons are not associative in Starlark)");
  }
  return { kind: "binary", operator, left, right, start: left.start, end: reader.end };
}

function takeComparison(reader: TokenReader): BinaryOperator | null {
  const { kind, text } = reader.peek();
  if (kind !== "word" || reader.isAtEnd) return null;
  if (COMPARISONS.has(text)) return reader.next().text as BinaryOperator;
  if (text !== "not") return null;
  reader.next();
  if (!reader.take("in")) throw reader.unexpected("keyword 'in'");
  return "not in";
}

function parseBinary(reader: TokenReader, level: number): Expression {
  const operators = LEVELS[level];
  if (operators === undefined) return parseUnary(reader);
  let left = parseBinary(reader, level + 1);
  for (;;) {
    const operator = operators.find((candidate) => reader.isWord(candidate));
    if (operator === undefined) return left;
    reader.next();
    const right = parseBinary(reader, level + 1);
    left = { kind: "binary", operator, left, right, start: left.start, end: reader.end };
  }
}

function parseUnary(reader: TokenReader): Expression {
  const operator = (["-", "+", "~"] as const).find((candidate) => reader.isWord(candidate));
  if (operator === undefined) return parsePrimary(reader);
  const { start } = reader.next();
  const operand = reader.deeper(() => parseUnary(reader));
  return { kind: "unary", operator, operand, start, end: reader.end };
}

function parsePrimary(reader: TokenReader): Expression {
  let value = parseOperand(reader);
  const { start } = value;
  for (let links = 0;; links++) {
    if (links > MAX_NESTING) throw tooDeep(reader.peek());
    if (reader.take(".")) {
      const attribute = reader.expectKind("name", "identifier").text;
      value = { kind: "dot", object: value, attribute, start, end: reader.end };
    } else if (reader.take("(")) {
      const args = parseArguments(reader);
      reader.expect(")");
      value = { kind: "call", callee: value, args, start, end: reader.end };
    } else if (reader.take("[")) value = parseSubscript(reader, value);
    else return value;
  }
}

function parseSubscript(reader: TokenReader, object: Expression): Expression {
  const { start } = object;
  const from = reader.isWord(":") ? null : parseTest(reader);
  if (from !== null && reader.isWord(",")) {
    // `dict[str, int]`, a type.
    const index = parseRest(reader, from);
    reader.expect("]");
    return { kind: "index", object, index, start, end: reader.end };
  }
  if (from !== null && reader.take("]")) return { kind: "index", object, index: from, start, end: reader.end };
  reader.expect(":");
  const stop = reader.isWord(":") || reader.isWord("]") ? null : parseTest(reader);
  const step = reader.take(":") && !reader.isWord("]") ? parseTest(reader) : null;
  reader.expect("]");
  return { kind: "slice", object, from, stop, step, start, end: reader.end };
}

function parseRest(reader: TokenReader, first: Expression): Expression {
  const items = [first];
  while (reader.take(",")) items.push(parseTest(reader));
  return { kind: "tuple", items, start: first.start, end: reader.end };
}

function parseOperand(reader: TokenReader): Expression {
  const token = reader.peek();
  const { start, end } = token;
  if (reader.isAtEnd) throw reader.unexpected("expression");
  switch (token.kind) {
    case "name":
      reader.next();
      return { kind: "name", name: token.text, binding: null, start, end };
    case "int":
      reader.next();
      return { kind: "literal", value: token.int!, start, end };
    case "float":
      reader.next();
      return { kind: "literal", value: token.float!, start, end };
    case "string":
      reader.next();
      return { kind: "literal", value: token.text, start, end };
    case "fstring":
      reader.next();
      return { kind: "fstring", parts: token.parts!.map((part) => parseFStringPart(reader, part)), start, end };
    case "word":
      if (token.text === "[") return parseList(reader);
      if (token.text === "{") return parseDict(reader);
      if (token.text === "(") return parseParentheses(reader);
      if (reader.take("...")) return { kind: "ellipsis", start, end };
  }
  throw reader.unexpected("expression");
}

function parseFStringPart(
  reader: TokenReader,
  part: NonNullable<ReturnType<TokenReader["peek"]>["parts"]>[number],
): string | { value: Expression; conversion: "s" | "r" } {
  if ("text" in part) return part.text;
  const inner = reader.within(part.tokens);
  const value = parseTest(inner);
  if (inner.peek().kind !== "end") throw inner.unexpected("f-string expression end '}'");
  return { value, conversion: part.conversion };
}

function parseParentheses(reader: TokenReader): Expression {
  const { start } = reader.expect("(");
  if (reader.take(")")) return { kind: "tuple", items: [], start, end: reader.end };
  const value = parseTestList(reader);
  reader.expect(")");
  return value;
}

function parseList(reader: TokenReader): Expression {
  const { start } = reader.expect("[");
  const items: Expression[] = [];
  while (!reader.isWord("]")) {
    items.push(parseTest(reader));
    if (items.length === 1 && reader.isWord("for")) {
      const clauses = parseClauses(reader);
      reader.expect("]");
      return { kind: "comprehension", element: [items[0]!], clauses, start, end: reader.end };
    }
    if (!reader.take(",")) break;
  }
  reader.expect("]");
  return { kind: "list", items, start, end: reader.end };
}

function parseDict(reader: TokenReader): Expression {
  const { start } = reader.expect("{");
  const entries: [Expression, Expression][] = [];
  while (!reader.isWord("}")) {
    const key = parseTest(reader);
    reader.expect(":");
    entries.push([key, parseTest(reader)]);
    if (entries.length === 1 && reader.isWord("for")) {
      const clauses = parseClauses(reader);
      reader.expect("}");
      return { kind: "comprehension", element: entries[0]!, clauses, start, end: reader.end };
    }
    if (!reader.take(",")) break;
  }
  reader.expect("}");
  return { kind: "dict", entries, start, end: reader.end };
}

function parseClauses(reader: TokenReader): Clause[] {
  const clauses: Clause[] = [];
  for (;;) {
    if (clauses.length > MAX_NESTING) throw tooDeep(reader.peek());
    if (reader.take("if")) clauses.push({ kind: "if", test: parseOr(reader) });
    else if (reader.take("for")) {
      const target = parseLoopTarget(reader);
      if (!reader.take("in")) throw reader.unexpected("keyword 'in'");
      clauses.push({ kind: "for", target, iterable: parseOr(reader) });
    } else return clauses;
  }
}
