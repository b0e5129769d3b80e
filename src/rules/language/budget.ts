/** What one file may use: steps, bytes of values, and time. Code that makes something large asks before it does. */

import { MAX_EVALUATION_MS, MAX_STEPS, MAX_VALUE_BYTES } from "../limits.ts";
import { Failure } from "./failure.ts";

export interface BudgetLimits {
  readonly steps: number;
  readonly bytes: number;
  readonly ms: number;
}

const DEFAULT_LIMITS: BudgetLimits = { steps: MAX_STEPS, bytes: MAX_VALUE_BYTES, ms: MAX_EVALUATION_MS };

const CELL_BYTES = 16;
/** Reading the clock costs as much as some ten steps. */
const STEPS_BETWEEN_LOOKS = 4096;

export class Budget {
  readonly #limits: BudgetLimits;
  readonly #deadline: number;
  #steps = 0;
  #bytes = 0;
  #nextLook: number;

  constructor(limits: Partial<BudgetLimits> = {}) {
    this.#limits = { ...DEFAULT_LIMITS, ...limits };
    this.#deadline = performance.now() + this.#limits.ms;
    this.#nextLook = Math.min(STEPS_BETWEEN_LOOKS, this.#limits.steps);
  }

  /** Counts steps: one for an expression, more for a built-in that goes through a list. */
  step(count = 1): void {
    this.#steps += count;
    if (this.#steps < this.#nextLook) return;
    this.#nextLook = Math.min(this.#steps + STEPS_BETWEEN_LOOKS, this.#limits.steps);
    if (this.#steps > this.#limits.steps) {
      throw new Failure(`stopped after ${this.#limits.steps} steps: a rule file may not take more`);
    }
    if (performance.now() > this.#deadline) {
      throw new Failure(`stopped after ${this.#limits.ms} ms: a rule file may not take longer`);
    }
  }

  /** Room for the cells of a list or dict, which also cost a step each. */
  cells(count: number): void {
    this.#take(count * CELL_BYTES);
    this.step(count);
  }

  /** Room for a text. Sixteen characters are a step. */
  text(length: number): void {
    this.#take(length * 2);
    this.step(length >> 4);
  }

  #take(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes > this.#limits.bytes) {
      throw new Failure(`stopped: the values of a rule file may take ${this.#limits.bytes / (1 << 20)} MiB, not more`);
    }
  }
}
