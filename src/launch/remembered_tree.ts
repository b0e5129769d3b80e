/**
 * A host tree that looks at each path once: for making one policy, whose answers then all belong to one moment and whose
 * paths share most of their directories. Not to be kept: the disk goes on.
 */

import type { HostEntry, HostTree } from "./host_tree.ts";

export class RememberedTree implements HostTree {
  readonly #tree: HostTree;
  readonly #entries = new Map<string, HostEntry | "missing" | "blocked">();

  constructor(tree: HostTree) {
    this.#tree = tree;
  }

  look(path: string): HostEntry | "missing" | "blocked" {
    let entry = this.#entries.get(path);
    if (entry === undefined) {
      entry = this.#tree.look(path);
      this.#entries.set(path, entry);
    }
    return entry;
  }

  readLink(path: string): string {
    return this.#tree.readLink(path);
  }

  readStart(path: string): string | null {
    return this.#tree.readStart(path);
  }
}
