/**
 * Expressions, and assignment to names and places. `evaluator.ts` adds statements and calls of functions.
 *
 * Where something fails, `span` is the place: it is set to a node once its parts have been evaluated, so that operators
 * and built-ins, which throw a bare `Failure`, need not know about places.
 */

import { MAX_EVALUATION_DEPTH } from "../limits.ts";
import { Budget, type BudgetLimits } from "./budget.ts";
import { attribute } from "./builtins.ts";
import { spreadNamed, spreadPositional } from "./calls.ts";
import { Failure } from "./failure.ts";
import { operatorChain } from "./operator_chain.ts";
import { applyBinary, applyUnary } from "./operators.ts";
import type { Position, SourceText, Span } from "./source_text.ts";
import { getItem, getSlice, iterate, setItem } from "./subscripts.ts";
import type { Clause, Expression, FunctionNode, NameNode, Target } from "./syntax.ts";
import { textOf, writtenOut } from "./text.ts";
import { typeOf } from "./types.ts";
import {
  type CallArguments,
  Dict,
  ELLIPSIS,
  type Frame,
  isTrue,
  List,
  type Machine,
  Tuple,
  typeName,
  UserFunction,
  type Value,
} from "./values.ts";

export interface EvaluationOptions {
  readonly builtins: ReadonlyMap<string, Value>;
  readonly limits?: Partial<BudgetLimits>;
}

export abstract class ExpressionEvaluator implements Machine {
  readonly budget: Budget;
  protected readonly source: SourceText;
  protected readonly builtins: ReadonlyMap<string, Value>;
  /** The variables of the function that runs. */
  protected frame: Frame = { slots: [], outer: null, slotNames: [] };
  protected span: Span = { start: 0, end: 0 };
  protected depth = 0;

  constructor(source: SourceText, { builtins, limits }: EvaluationOptions) {
    this.source = source;
    this.builtins = builtins;
    this.budget = new Budget(limits);
  }

  abstract call(callee: Value, args: CallArguments): Value;

  place(): Position {
    return this.source.position(this.span.start);
  }

  /** Goes one level down. `depth--` comes back up, but not after a failure, which ends everything. */
  protected enter(): void {
    if (++this.depth > MAX_EVALUATION_DEPTH) {
      throw new Failure(`nested more than ${MAX_EVALUATION_DEPTH} levels deep, counting calls`);
    }
  }

  protected assign(target: Target, value: Value): undefined {
    switch (target.kind) {
      case "name":
        this.#slots(target)[this.#slotOf(target)] = value;
        return;
      case "index": {
        const object = this.evaluate(target.object);
        const index = this.evaluate(target.index);
        this.span = target;
        return void setItem(object, index, value, this.budget);
      }
      case "dot":
        this.evaluate(target.object);
        throw new Failure("Values have no attributes to assign to", target);
      case "targets": {
        this.span = target;
        if (typeof value === "string") throw new Failure("Operation `(iter)` not supported on type `string`");
        const items = iterate(value, this.budget);
        if (items.length !== target.items.length) {
          throw new Failure(`Unpacked ${items.length} values but expected ${target.items.length}`);
        }
        target.items.forEach((item, index) => this.assign(item, items[index]!));
      }
    }
  }

  #slots({ binding }: NameNode): (Value | undefined)[] {
    let frame = this.frame;
    for (let hops = binding?.kind === "slot" ? binding.hops : 0; hops > 0; hops--) frame = frame.outer!;
    return frame.slots;
  }

  #slotOf({ binding }: NameNode): number {
    return binding?.kind === "slot" ? binding.slot : -1;
  }

  protected define(definition: FunctionNode): UserFunction {
    const { parameters, name, returnType } = definition;
    return new UserFunction({
      definition,
      defaults: parameters.map(({ defaultValue }) => defaultValue === null ? undefined : this.evaluate(defaultValue)),
      types: parameters.map(({ type }) => type === null ? null : this.#type(type)),
      returnType: returnType === null ? null : this.#type(returnType),
      frame: this.frame,
      name: `${this.source.file}.${name}`,
    });
  }

  #type(expression: Expression): ReturnType<typeof typeOf> {
    const value = this.evaluate(expression);
    this.span = expression;
    return typeOf(value);
  }

  protected evaluate(expression: Expression): Value {
    this.budget.step();
    this.enter();
    const value = this.#value(expression);
    this.depth--;
    return value;
  }

  #value(expression: Expression): Value {
    switch (expression.kind) {
      case "name":
        return this.#name(expression);
      case "literal":
        return expression.value;
      case "ellipsis":
        return ELLIPSIS;
      case "fstring":
        return this.#fstring(expression);
      case "list":
      case "tuple": {
        this.budget.cells(expression.items.length);
        const items = expression.items.map((item) => this.evaluate(item));
        return expression.kind === "list" ? new List(items) : new Tuple(items);
      }
      case "dict":
        return this.#dict(expression);
      case "comprehension":
        return this.#comprehension(expression);
      case "if":
        return this.evaluate(isTrue(this.evaluate(expression.test)) ? expression.then : expression.otherwise);
      case "and":
      case "or":
      case "binary":
        return this.#chain(expression);
      case "not":
        return !isTrue(this.evaluate(expression.operand));
      case "unary": {
        const operand = this.evaluate(expression.operand);
        this.span = expression;
        return applyUnary(expression.operator, operand);
      }
      case "dot": {
        const object = this.evaluate(expression.object);
        const value = attribute(object, expression.attribute);
        if (value !== undefined) return value;
        throw new Failure(
          `Object of type \`${typeName(object)}\` has no attribute \`${expression.attribute}\``,
          expression,
        );
      }
      case "index": {
        const object = this.evaluate(expression.object);
        const index = this.evaluate(expression.index);
        this.span = expression;
        return getItem(object, index, this.budget);
      }
      case "slice":
        return this.#slice(expression);
      case "call":
        return this.#callExpression(expression);
      case "lambda":
        return this.define(expression.definition);
    }
  }

  #name(node: NameNode): Value {
    if (node.binding?.kind === "builtin") return this.builtins.get(node.name)!;
    const value = this.#slots(node)[this.#slotOf(node)];
    if (value === undefined) throw new Failure(`Local variable \`${node.name}\` referenced before assignment`, node);
    return value;
  }

  #fstring({ parts }: Extract<Expression, { kind: "fstring" }>): string {
    const texts = parts.map((part) => {
      if (typeof part === "string") return part;
      const value = this.evaluate(part.value);
      return part.conversion === "r" ? writtenOut(value) : textOf(value);
    });
    this.budget.text(texts.reduce((length, text) => length + text.length, 0));
    return texts.join("");
  }

  #dict({ entries }: Extract<Expression, { kind: "dict" }>): Dict {
    const dict = new Dict();
    for (const [keyNode, valueNode] of entries) {
      const key = this.evaluate(keyNode);
      const value = this.evaluate(valueNode);
      this.span = keyNode;
      if (!dict.set(key, value, this.budget)) {
        throw new Failure(`Dictionary key repeated for \`${writtenOut(key)}\``);
      }
    }
    return dict;
  }

  #comprehension({ element, clauses }: Extract<Expression, { kind: "comprehension" }>): Value {
    const [first, second] = element;
    if (second === undefined) {
      const items: Value[] = [];
      this.#clauses(clauses, 0, () => {
        this.budget.cells(1);
        items.push(this.evaluate(first));
      });
      return new List(items);
    }
    const dict = new Dict();
    this.#clauses(clauses, 0, () => {
      const key = this.evaluate(first);
      const value = this.evaluate(second);
      this.span = first;
      dict.set(key, value, this.budget);
    });
    return dict;
  }

  #clauses(clauses: readonly Clause[], at: number, add: () => void): void {
    const clause = clauses[at];
    if (clause === undefined) return add();
    this.enter();
    if (clause.kind === "for") this.#each(clause, () => this.#clauses(clauses, at + 1, add));
    else if (isTrue(this.evaluate(clause.test))) this.#clauses(clauses, at + 1, add);
    this.depth--;
  }

  #each(clause: Extract<Clause, { kind: "for" }>, run: () => void): void {
    const value = this.evaluate(clause.iterable);
    this.span = clause.iterable;
    const items = iterate(value, this.budget);
    const guarded = value instanceof List || value instanceof Dict ? value : null;
    if (guarded !== null) guarded.loops++;
    for (const item of items) {
      this.budget.step();
      this.assign(clause.target, item);
      run();
    }
    if (guarded !== null) guarded.loops--;
  }

  /** `a + b + c`, `a and b and c`: from left to right, without a frame for each. */
  #chain(last: Parameters<typeof operatorChain>[0]): Value {
    const { operands, nodes } = operatorChain(last);
    let value = this.evaluate(operands[0]!);
    for (const [index, node] of nodes.entries()) {
      if (node.kind === "and" ? !isTrue(value) : node.kind === "or" && isTrue(value)) return value;
      const right = this.evaluate(operands[index + 1]!);
      this.span = node;
      value = node.kind === "binary" ? applyBinary(node.operator, value, right, this.budget) : right;
    }
    return value;
  }

  #slice(expression: Extract<Expression, { kind: "slice" }>): Value {
    const part = (node: Expression | null) => node === null ? null : this.evaluate(node);
    const object = this.evaluate(expression.object);
    const slice = { from: part(expression.from), stop: part(expression.stop), step: part(expression.step) };
    this.span = expression;
    return getSlice(object, slice, this.budget);
  }

  #callExpression(expression: Extract<Expression, { kind: "call" }>): Value {
    const callee = this.evaluate(expression.callee);
    const positional: Value[] = [];
    const named = new Map<string, Value>();
    for (const { kind, name, value: node } of expression.args) {
      const value = this.evaluate(node);
      this.span = expression;
      if (kind === "positional") positional.push(value);
      else if (kind === "named") named.set(name!, value);
      else if (kind === "args") spreadPositional(value, positional, this.budget);
      else spreadNamed(value, named, this.budget);
    }
    this.span = expression;
    return this.call(callee, { positional, named });
  }
}
