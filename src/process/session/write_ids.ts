/**
 * The ids of accepted writes, so that a write retried after a lost connection is not typed twice.
 *
 * Bounded: at least the last `capacity` ids are known and at most twice as many. Two generations instead of one list
 * in order of age, since then forgetting is dropping a set.
 */

import { REMEMBERED_WRITE_IDS } from "../limits.ts";
import { textCost } from "./text_cost.ts";

export class WriteIds {
  readonly #capacity: number;
  #recent = new Set<string>();
  #older = new Set<string>();

  constructor(capacity: number = REMEMBERED_WRITE_IDS) {
    this.#capacity = capacity;
  }

  /** What remembering them takes in memory, about. */
  get allocatedBytes(): number {
    let sum = 0;
    for (const ids of [this.#recent, this.#older]) for (const id of ids) sum += textCost(id);
    return sum;
  }

  has(id: string): boolean {
    return this.#recent.has(id) || this.#older.has(id);
  }

  add(id: string): void {
    if (this.#recent.size >= this.#capacity) {
      this.#older = this.#recent;
      this.#recent = new Set();
    }
    this.#recent.add(id);
  }
}
