/**
 * Finds out what every name stands for, before anything runs: a slot of a frame, or a built-in. A name that stands for
 * nothing is refused here, even in a function that is never called.
 *
 * A file and each function have a frame. A name that is assigned anywhere in a function is the function's own.
 * Variables of a comprehension live in slots of the frame around it that nobody else sees. Chains of operators are
 * walked without recursion: they may be long.
 */

import { nearestWord } from "../../nearest_word.ts";
import { Failure } from "./failure.ts";
import { operatorChain } from "./operator_chain.ts";
import type { Expression, FunctionNode, NameNode, Statement, Target } from "./syntax.ts";

export interface FrameLayout {
  readonly frameSize: number;
  readonly slotNames: readonly string[];
}

/** Binds all names of a file; `builtins` are the names that exist without being assigned. */
export function resolveNames(statements: readonly Statement[], builtins: ReadonlySet<string>): FrameLayout {
  const scope = new Scope(null, builtins);
  scope.declareAll(statements);
  scope.statements(statements, { inFunction: false, inLoop: false });
  return scope.layout();
}

interface Place {
  readonly inFunction: boolean;
  readonly inLoop: boolean;
}

class Scope {
  readonly #outer: Scope | null;
  readonly #builtins: ReadonlySet<string>;
  readonly #slotNames: string[] = [];
  /** Innermost last: the frame's own names, then those of each comprehension around the place. */
  readonly #visible: Map<string, number>[] = [new Map()];

  constructor(outer: Scope | null, builtins: ReadonlySet<string>) {
    this.#outer = outer;
    this.#builtins = builtins;
  }

  layout(): FrameLayout {
    return { frameSize: this.#slotNames.length, slotNames: this.#slotNames };
  }

  declare(name: string): void {
    const names = this.#visible.at(-1)!;
    if (!names.has(name)) names.set(name, this.#slotNames.push(name) - 1);
  }

  /** Declares what the statements of one frame assign. */
  declareAll(statements: readonly Statement[]): void {
    for (const statement of statements) {
      switch (statement.kind) {
        case "assign":
        case "augmented":
          this.#declareTarget(statement.target);
          break;
        case "def":
          this.declare(statement.target.name);
          break;
        case "if statement":
          for (const { body } of statement.branches) this.declareAll(body);
          this.declareAll(statement.otherwise);
          break;
        case "for statement":
          this.#declareTarget(statement.target);
          this.declareAll(statement.body);
      }
    }
  }

  #declareTarget(target: Target): void {
    if (target.kind === "name") this.declare(target.name);
    else if (target.kind === "targets") target.items.forEach((item) => this.#declareTarget(item));
  }

  statements(statements: readonly Statement[], place: Place): void {
    for (const statement of statements) this.#statement(statement, place);
  }

  #statement(statement: Statement, place: Place): void {
    switch (statement.kind) {
      case "expression":
        return this.#expression(statement.value);
      case "assign":
        if (statement.type !== null) this.#expression(statement.type);
        this.#expression(statement.value);
        return this.#target(statement.target);
      case "augmented":
        this.#expression(statement.value);
        return this.#target(statement.target);
      case "if statement":
        for (const { test, body } of statement.branches) {
          this.#expression(test);
          this.statements(body, place);
        }
        return this.statements(statement.otherwise, place);
      case "for statement":
        this.#expression(statement.iterable);
        this.#target(statement.target);
        return this.statements(statement.body, { ...place, inLoop: true });
      case "def":
        this.#function(statement.definition);
        return this.#name(statement.target);
      case "return":
        if (!place.inFunction) throw new Failure("`return` cannot be used outside of a `def` function", statement);
        return statement.value === null ? undefined : this.#expression(statement.value);
      case "break":
      case "continue":
        if (place.inLoop) return;
        throw new Failure(`\`${statement.kind}\` cannot be used outside of a \`for\` loop`, statement);
      case "pass":
        return;
      case "load statement":
        throw new Failure(
          `No imports are available, you tried \`${statement.module}\`: each rule file stands alone`,
          statement,
        );
    }
  }

  #target(target: Target): void {
    if (target.kind === "targets") target.items.forEach((item) => this.#target(item));
    else this.#expression(target);
  }

  #function(definition: FunctionNode): void {
    for (const { type, defaultValue } of definition.parameters) {
      if (type !== null) this.#expression(type);
      if (defaultValue !== null) this.#expression(defaultValue);
    }
    if (definition.returnType !== null) this.#expression(definition.returnType);
    const inner = new Scope(this, this.#builtins);
    // Parameters come first: a call fills slot after slot.
    for (const { kind, name } of definition.parameters) if (kind !== "bare star") inner.declare(name);
    inner.declareAll(definition.body);
    inner.statements(definition.body, { inFunction: true, inLoop: false });
    Object.assign(definition, inner.layout());
  }

  #expression(expression: Expression): void {
    switch (expression.kind) {
      case "name":
        return this.#name(expression);
      case "literal":
      case "ellipsis":
        return;
      case "fstring":
        return expression.parts.forEach((part) => typeof part === "string" || this.#expression(part.value));
      case "list":
      case "tuple":
        return expression.items.forEach((item) => this.#expression(item));
      case "dict":
        return expression.entries.forEach((entry) => entry.forEach((part) => this.#expression(part)));
      case "comprehension":
        return this.#comprehension(expression);
      case "if":
        return [expression.test, expression.then, expression.otherwise].forEach((part) => this.#expression(part));
      case "and":
      case "or":
      case "binary":
        return operatorChain(expression).operands.forEach((operand) => this.#expression(operand));
      case "not":
      case "unary":
        return this.#expression(expression.operand);
      case "dot":
        return this.#expression(expression.object);
      case "index":
        return [expression.object, expression.index].forEach((part) => this.#expression(part));
      case "slice":
        return [expression.object, expression.from, expression.stop, expression.step]
          .forEach((part) => part === null || this.#expression(part));
      case "call":
        this.#expression(expression.callee);
        return expression.args.forEach(({ value }) => this.#expression(value));
      case "lambda":
        return this.#function(expression.definition);
    }
  }

  #comprehension({ element, clauses }: Extract<Expression, { kind: "comprehension" }>): void {
    // The first iterable is looked up outside: `[x for x in x]` works.
    const [first, ...rest] = clauses;
    if (first?.kind === "for") this.#expression(first.iterable);
    this.#visible.push(new Map());
    for (const clause of clauses) if (clause.kind === "for") this.#declareTarget(clause.target);
    if (first?.kind === "for") this.#target(first.target);
    for (const clause of rest) {
      if (clause.kind === "for") this.#target(clause.target);
      this.#expression(clause.kind === "for" ? clause.iterable : clause.test);
    }
    element.forEach((part) => this.#expression(part));
    this.#visible.pop();
  }

  #name(node: NameNode): void {
    for (const [hops, scope] of this.#lineage().entries()) {
      const slot = scope.#slotOf(node.name);
      if (slot === undefined) continue;
      node.binding = { kind: "slot", hops, slot };
      return;
    }
    if (!this.#builtins.has(node.name)) throw new Failure(this.#notFound(node.name), node);
    node.binding = { kind: "builtin" };
  }

  /** This scope, and those around it. */
  #lineage(): Scope[] {
    return this.#outer === null ? [this] : [this, ...this.#outer.#lineage()];
  }

  #slotOf(name: string): number | undefined {
    for (let index = this.#visible.length - 1; index >= 0; index--) {
      const slot = this.#visible[index]!.get(name);
      if (slot !== undefined) return slot;
    }
  }

  #notFound(name: string): string {
    const known = [...this.#builtins];
    for (const scope of this.#lineage()) {
      for (const names of scope.#visible) known.push(...names.keys());
    }
    const nearest = nearestWord(name, known);
    return `Variable \`${name}\` not found${nearest === null ? "" : `, did you mean \`${nearest}\`?`}`;
  }
}
