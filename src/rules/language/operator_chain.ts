/**
 * `a + b + c + …` as a list. The tree of such a chain is as deep as the chain is long, so code that walks a tree takes
 * the chain apart with this instead of recursing.
 */

import type { Expression } from "./syntax.ts";

export type ChainNode = Extract<Expression, { kind: "and" | "or" | "binary" }>;

export interface OperatorChain {
  /** One more than there are nodes. */
  readonly operands: readonly Expression[];
  /** The node that joins operand N with operand N + 1. */
  readonly nodes: readonly ChainNode[];
}

/** The chain that ends in this node: its left operands, as far as they are the same sort of node. */
export function operatorChain(last: ChainNode): OperatorChain {
  const nodes = [last];
  let left = last.left;
  while (left.kind === last.kind) {
    nodes.push(left);
    left = left.left;
  }
  nodes.reverse();
  return { operands: [left, ...nodes.map(({ right }) => right)], nodes };
}
