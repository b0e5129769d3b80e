/** Tokens -> statements: a whole file. Expressions are left to `expression_parser.ts`. */

import { asTarget, parseLoopTarget, parseTest, parseTestList } from "./expression_parser.ts";
import { Failure } from "./failure.ts";
import { tokenize } from "./lexer.ts";
import { parseParameters } from "./parameter_parser.ts";
import type { BinaryOperator, NameNode, Statement } from "./syntax.ts";
import { TokenReader } from "./token_reader.ts";

const AUGMENTED: ReadonlyMap<string, BinaryOperator> = new Map(
  (["+", "-", "*", "/", "//", "%", "&", "|", "^", "<<", ">>"] as const).map((operator) => [`${operator}=`, operator]),
);

/** Throws a `Failure` with its place. */
export function parseFile(text: string): Statement[] {
  const reader = new TokenReader(tokenize(text));
  const statements: Statement[] = [];
  skipNewLines(reader);
  while (!reader.isAtEnd) {
    parseStatement(reader, statements);
    skipNewLines(reader);
  }
  return statements;
}

function skipNewLines(reader: TokenReader): void {
  while (!reader.isAtEnd && reader.peek().kind === "newline") reader.next();
}

function parseStatement(reader: TokenReader, into: Statement[]): void {
  const { start } = reader.peek();
  if (reader.take("def")) into.push(parseDef(reader, start));
  else if (reader.take("if")) into.push(parseIf(reader, start));
  else if (reader.take("for")) into.push(parseFor(reader, start));
  else parseLine(reader, into);
}

function parseSuite(reader: TokenReader): Statement[] {
  const statements: Statement[] = [];
  if (reader.peek().kind !== "newline" || reader.isAtEnd) {
    parseLine(reader, statements);
    return statements;
  }
  skipNewLines(reader);
  reader.expectKind("indent", "new indentation block");
  reader.deeper(() => {
    skipNewLines(reader);
    do {
      parseStatement(reader, statements);
      skipNewLines(reader);
    } while (reader.peek().kind !== "dedent");
  });
  reader.next();
  return statements;
}

function parseDef(reader: TokenReader, start: number): Statement {
  const token = reader.expectKind("name", "identifier");
  const target: NameNode = { kind: "name", name: token.text, binding: null, start: token.start, end: token.end };
  reader.expect("(");
  const parameters = parseParameters(reader, { end: ")", hasTypes: true });
  reader.expect(")");
  const returnType = reader.take("->") ? parseTest(reader) : null;
  reader.expect(":");
  const body = parseSuite(reader);
  const span = { start, end: reader.end };
  const definition = { name: token.text, parameters, returnType, body, frameSize: 0, slotNames: [], ...span };
  return { kind: "def", target, definition, ...span };
}

function parseIf(reader: TokenReader, start: number): Statement {
  const branch = () => {
    const test = parseTest(reader);
    reader.expect(":");
    return { test, body: parseSuite(reader) };
  };
  const branches = [branch()];
  while (reader.take("elif")) branches.push(branch());
  let otherwise: Statement[] = [];
  if (reader.take("else")) {
    reader.expect(":");
    otherwise = parseSuite(reader);
  }
  return { kind: "if statement", branches, otherwise, start, end: reader.end };
}

function parseFor(reader: TokenReader, start: number): Statement {
  const target = parseLoopTarget(reader);
  if (!reader.take("in")) throw reader.unexpected("keyword 'in'");
  const iterable = parseTest(reader);
  reader.expect(":");
  return { kind: "for statement", target, iterable, body: parseSuite(reader), start, end: reader.end };
}

/** Statements of one line, with semicolons between them. */
function parseLine(reader: TokenReader, into: Statement[]): void {
  do {
    into.push(parseSmall(reader));
    if (reader.peek().kind === "newline") break;
  } while (reader.take(";") && reader.peek().kind !== "newline");
  reader.expectKind("newline", "new line");
}

function parseSmall(reader: TokenReader): Statement {
  const { start } = reader.peek();
  for (const kind of ["pass", "break", "continue"] as const) {
    if (reader.take(kind)) return { kind, start, end: reader.end };
  }
  if (reader.take("return")) {
    const value = reader.peek().kind === "newline" || reader.isWord(";") ? null : parseTestList(reader);
    return { kind: "return", value, start, end: reader.end };
  }
  if (reader.take("load")) return parseLoad(reader, start);
  return parseAssignment(reader, start);
}

function parseAssignment(reader: TokenReader, start: number): Statement {
  const left = parseTestList(reader);
  const type = reader.isWord(":") ? (reader.next(), parseTest(reader)) : null;
  if (reader.take("=")) {
    const target = asTarget(left);
    if (type !== null && target.kind === "targets") {
      throw new Failure("type annotations are not allowed on multiple assignments", left);
    }
    const value = parseTestList(reader);
    return { kind: "assign", target, type, value, start, end: reader.end };
  }
  const operator = reader.peek().kind === "word" ? AUGMENTED.get(reader.peek().text) : undefined;
  if (operator !== undefined) {
    reader.next();
    if (type !== null) throw new Failure("type annotations are not allowed on augmented assignments", left);
    const target = asTarget(left);
    if (target.kind === "targets") {
      throw new Failure("left-hand-side of modifying assignment cannot be a list or tuple", left);
    }
    return { kind: "augmented", target, operator, value: parseTestList(reader), start, end: reader.end };
  }
  // A tuple in parentheses begins after the parenthesis. So a tuple that begins here is a list of targets whose equals
  // sign is missing.
  const isBareTuple = left.kind === "tuple" && left.items.length > 0 && left.start === start;
  if (type !== null || isBareTuple) throw reader.unexpected("assignment operator");
  return { kind: "expression", value: left, start, end: reader.end };
}

function parseLoad(reader: TokenReader, start: number): Statement {
  reader.expect("(");
  const module = reader.expectKind("string", "string literal");
  if (reader.isWord(")")) throw new Failure("`load` statement requires at least two arguments", module);
  while (reader.take(",") && !reader.isWord(")")) {
    if (reader.peek().kind === "name") {
      reader.next();
      reader.expect("=");
    }
    reader.expectKind("string", "string literal");
  }
  reader.expect(")");
  return { kind: "load statement", module: module.text, start, end: reader.end };
}
