/**
 * A host tree that looks at each path once, for making one policy: all answers then belong to one moment, and paths
 * share most of their directories. Later it can tell whether everything is still the same.
 */

import type { HostEntry, HostTree } from "./host_tree.ts";

type Look = HostEntry | "missing" | "blocked";

export class RememberedTree implements HostTree {
  readonly #tree: HostTree;
  readonly #looks = new Map<string, Look>();
  #hasReadContent = false;

  constructor(tree: HostTree) {
    this.#tree = tree;
  }

  /** Whether a new look would show the same. A link's text changes only with the link itself. */
  get isStillSo(): boolean {
    // Content may change without any of this showing it.
    if (this.#hasReadContent) return false;
    for (const [path, before] of this.#looks) if (!isSame(before, this.#tree.look(path))) return false;
    return true;
  }

  look(path: string): Look {
    let look = this.#looks.get(path);
    if (look === undefined) {
      look = this.#tree.look(path);
      this.#looks.set(path, look);
    }
    return look;
  }

  readLink(path: string): string {
    return this.#tree.readLink(path);
  }

  readStart(path: string): string | null {
    this.#hasReadContent = true;
    return this.#tree.readStart(path);
  }

  /** Not remembered: the answer changes only with another mount, and then `look` finds another file at the path. */
  isMadeUp(path: string): boolean {
    return this.#tree.isMadeUp(path);
  }
}

function isSame(a: Look, b: Look): boolean {
  if (typeof a === "string" || typeof b === "string") return a === b;
  return a.id === b.id && a.type === b.type && a.version === b.version;
}
