/**
 * Runs a file: statements and calls. A plain walk over the tree, since rule files are short and run once.
 *
 * Promises that it ends: steps, time, memory and depth are bounded. An error shows the calls that led to it.
 */

import { MAX_CALL_DEPTH } from "../limits.ts";
import { bindArguments } from "./calls.ts";
import { type EvaluationOptions, ExpressionEvaluator } from "./expression_evaluator.ts";
import { type CallSite, Failure, failureAt } from "./failure.ts";
import { applyBinary } from "./operators.ts";
import { parseFile } from "./parser.ts";
import { resolveNames } from "./scopes.ts";
import type { SourceText } from "./source_text.ts";
import { getItem, iterate, setItem } from "./subscripts.ts";
import type { Statement } from "./syntax.ts";
import { checkType, typeOf } from "./types.ts";
import { Builtin, type CallArguments, Dict, isTrue, List, typeName, UserFunction, type Value } from "./values.ts";

/** Parses and runs a file for what its calls of built-ins do. Throws a `RuleFileError`, and nothing else. */
export function evaluateFile(source: SourceText, options: EvaluationOptions): void {
  new Evaluator(source, options).run();
}

/** How a statement ended. Undefined: continue with the next one. */
type Ending = undefined | { readonly kind: "break" | "continue" } | { readonly kind: "return"; readonly value: Value };

const BREAK = { kind: "break" } as const;
const CONTINUE = { kind: "continue" } as const;

class Evaluator extends ExpressionEvaluator {
  readonly #calls: CallSite[] = [];
  #functionName = "<module>";

  run(): void {
    try {
      const statements = parseFile(this.source.text);
      const { frameSize, slotNames } = resolveNames(statements, new Set(this.builtins.keys()));
      this.frame = { slots: new Array(frameSize).fill(undefined), outer: null, slotNames };
      this.#block(statements);
    } catch (error) {
      // The bounds keep the runtime's own limits out of reach, unless little of its stack was left to begin with.
      if (error instanceof RangeError) {
        throw failureAt(this.source, `too deep or too large: ${error.message}`, this.span);
      }
      if (!(error instanceof Failure)) throw error;
      throw failureAt(this.source, error.message, error.span ?? this.span, this.#calls);
    }
  }

  call(callee: Value, args: CallArguments): Value {
    if (callee instanceof Builtin) return callee.run(args, this);
    if (callee instanceof UserFunction) return this.#callFunction(callee, args);
    throw new Failure(`Operation \`call()\` not supported on type \`${typeName(callee)}\``);
  }

  #callFunction(callee: UserFunction, args: CallArguments): Value {
    const site = this.span;
    if (this.#calls.length >= MAX_CALL_DEPTH - 1) throw new Failure("Starlark call stack overflow");
    const frame = bindArguments(callee, args, this.budget);
    const [outerFrame, outerName] = [this.frame, this.#functionName];
    this.#calls.push({ span: site, inFunction: outerName });
    this.frame = frame;
    this.#functionName = callee.parts.definition.name;
    const ending = this.#block(callee.parts.definition.body);
    const value = ending?.kind === "return" ? ending.value : null;
    if (callee.parts.returnType !== null) checkType(value, callee.parts.returnType, "return type");
    // Not in a `finally`: after a failure the calls are what the error shows.
    this.frame = outerFrame;
    this.#functionName = outerName;
    this.#calls.pop();
    this.span = site;
    return value;
  }

  #block(statements: readonly Statement[]): Ending {
    this.enter();
    let ending: Ending;
    for (const statement of statements) {
      ending = this.#statement(statement);
      if (ending !== undefined) break;
    }
    this.depth--;
    return ending;
  }

  #statement(statement: Statement): Ending {
    this.budget.step();
    switch (statement.kind) {
      case "expression":
        this.evaluate(statement.value);
        return;
      case "assign":
        return this.#assignment(statement);
      case "augmented":
        return this.#augmented(statement);
      case "if statement":
        for (const { test, body } of statement.branches) if (isTrue(this.evaluate(test))) return this.#block(body);
        return this.#block(statement.otherwise);
      case "for statement":
        return this.#loop(statement);
      case "def":
        return this.assign(statement.target, this.define(statement.definition));
      case "return":
        return { kind: "return", value: statement.value === null ? null : this.evaluate(statement.value) };
      case "break":
        return BREAK;
      case "continue":
        return CONTINUE;
    }
  }

  #assignment({ target, type, value: expression }: Extract<Statement, { kind: "assign" }>): undefined {
    const value = this.evaluate(expression);
    if (type !== null) {
      const wanted = typeOf(this.evaluate(type));
      this.span = type;
      checkType(value, wanted, "assignment");
    }
    this.assign(target, value);
  }

  #augmented(statement: Extract<Statement, { kind: "augmented" }>): undefined {
    const { target, operator } = statement;
    if (target.kind === "dot") throw new Failure("Values have no attributes to assign to", target);
    // The object and the index are evaluated once.
    const object = target.kind === "index" ? this.evaluate(target.object) : null;
    const index = target.kind === "index" ? this.evaluate(target.index) : null;
    this.span = target;
    const present = target.kind === "index" ? getItem(object, index, this.budget) : this.evaluate(target);
    const value = this.evaluate(statement.value);
    this.span = statement;
    // A list grows in place, so that everything that refers to it sees the change.
    if (operator === "+" && present instanceof List) {
      present.checkMutable();
      const items = [...iterate(value, this.budget)];
      this.budget.cells(items.length);
      for (const item of items) present.items.push(item);
      return;
    }
    const result = applyBinary(operator, present, value, this.budget);
    if (target.kind === "index") setItem(object, index, result, this.budget);
    else this.assign(target, result);
  }

  #loop({ target, iterable, body }: Extract<Statement, { kind: "for statement" }>): Ending {
    const value = this.evaluate(iterable);
    this.span = iterable;
    const items = iterate(value, this.budget);
    const guarded = value instanceof List || value instanceof Dict ? value : null;
    if (guarded !== null) guarded.loops++;
    let ending: Ending;
    for (const item of items) {
      this.budget.step();
      this.assign(target, item);
      ending = this.#block(body);
      if (ending === BREAK || ending?.kind === "return") break;
      ending = undefined;
    }
    if (guarded !== null) guarded.loops--;
    return ending === BREAK ? undefined : ending;
  }
}
