/** The syntax tree. Names carry a `Binding` once `scopes.ts` has found out what they stand for. */

import type { Span } from "./source_text.ts";

/** Where a name's value is: in a slot of the frame that is `hops` functions further out, or among the built-ins. */
export type Binding =
  | { readonly kind: "slot"; readonly hops: number; readonly slot: number }
  | { readonly kind: "builtin" };

export interface NameNode extends Span {
  readonly kind: "name";
  readonly name: string;
  binding: Binding | null;
}

export type BinaryOperator =
  | ("+" | "-" | "*" | "/" | "//" | "%" | "&" | "|" | "^" | "<<" | ">>")
  | ("==" | "!=" | "<" | ">" | "<=" | ">=" | "in" | "not in");

export type Expression =
  | NameNode
  | Span & { readonly kind: "literal"; readonly value: string | bigint | number }
  | Span & { readonly kind: "ellipsis" }
  | Span & {
    readonly kind: "fstring";
    readonly parts: readonly (string | { value: Expression; conversion: "s" | "r" })[];
  }
  | Span & { readonly kind: "list" | "tuple"; readonly items: readonly Expression[] }
  | Span & { readonly kind: "dict"; readonly entries: readonly (readonly [Expression, Expression])[] }
  | Span & {
    readonly kind: "comprehension";
    /** One expression for a list, key and value for a dict. */
    readonly element: readonly [Expression] | readonly [Expression, Expression];
    readonly clauses: readonly Clause[];
  }
  | Span & { readonly kind: "if"; readonly test: Expression; readonly then: Expression; readonly otherwise: Expression }
  | Span & { readonly kind: "and" | "or"; readonly left: Expression; readonly right: Expression }
  | Span & { readonly kind: "not"; readonly operand: Expression }
  | Span & { readonly kind: "unary"; readonly operator: "+" | "-" | "~"; readonly operand: Expression }
  | Span & {
    readonly kind: "binary";
    readonly operator: BinaryOperator;
    readonly left: Expression;
    readonly right: Expression;
  }
  | Span & { readonly kind: "dot"; readonly object: Expression; readonly attribute: string }
  | Span & { readonly kind: "index"; readonly object: Expression; readonly index: Expression }
  | Span & {
    readonly kind: "slice";
    readonly object: Expression;
    readonly from: Expression | null;
    readonly stop: Expression | null;
    readonly step: Expression | null;
  }
  | Span & { readonly kind: "call"; readonly callee: Expression; readonly args: readonly Argument[] }
  | Span & { readonly kind: "lambda"; readonly definition: FunctionNode };

export type Clause =
  | { readonly kind: "for"; readonly target: Target; readonly iterable: Expression }
  | { readonly kind: "if"; readonly test: Expression };

export interface Argument extends Span {
  readonly kind: "positional" | "named" | "args" | "kwargs";
  readonly name: string | null;
  readonly value: Expression;
}

export interface Parameter extends Span {
  readonly kind: "normal" | "args" | "kwargs" | "bare star";
  readonly name: string;
  readonly type: Expression | null;
  readonly defaultValue: Expression | null;
}

export interface FunctionNode extends Span {
  readonly name: string;
  readonly parameters: readonly Parameter[];
  readonly returnType: Expression | null;
  readonly body: readonly Statement[];
  /** How many slots a frame of it has. Set by `scopes.ts`, like the bindings. */
  frameSize: number;
  /** What is in the slots, for errors. */
  slotNames: readonly string[];
}

/** What may stand left of an equals sign, or after `for`. */
export type Target =
  | NameNode
  | Extract<Expression, { kind: "index" | "dot" }>
  | Span & { readonly kind: "targets"; readonly items: readonly Target[] };

export type Statement =
  | Span & { readonly kind: "expression"; readonly value: Expression }
  | Span & {
    readonly kind: "assign";
    readonly target: Target;
    readonly type: Expression | null;
    readonly value: Expression;
  }
  | Span & {
    readonly kind: "augmented";
    readonly target: Exclude<Target, { kind: "targets" }>;
    readonly operator: BinaryOperator;
    readonly value: Expression;
  }
  | Span & {
    readonly kind: "if statement";
    /** `if` and each `elif`, side by side: a long chain is not deep. */
    readonly branches: readonly { readonly test: Expression; readonly body: readonly Statement[] }[];
    readonly otherwise: readonly Statement[];
  }
  | Span & {
    readonly kind: "for statement";
    readonly target: Target;
    readonly iterable: Expression;
    readonly body: readonly Statement[];
  }
  | Span & { readonly kind: "def"; readonly target: NameNode; readonly definition: FunctionNode }
  | Span & { readonly kind: "return"; readonly value: Expression | null }
  | Span & { readonly kind: "break" | "continue" | "pass" }
  | Span & { readonly kind: "load statement"; readonly module: string };
