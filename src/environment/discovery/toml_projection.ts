/** The part of a document that was asked for, and nothing beside it. Pure. */

import type { KeyPath } from "../../protocol/environment_config.ts";
import { isTomlTable, type TomlTable } from "./toml_document.ts";

/** Keys that are wanted; `all` when everything below is. */
export type Selection = "all" | Map<string, Selection>;

/**
 * What lies on or below the paths; null when there is nothing. A value that is not a table stands for all paths through it,
 * because it overrides the tables of other layers; for the same reason a table on the way stays, if only as an empty one.
 */
export function projectToml(table: TomlTable, selection: ReadonlyMap<string, Selection>): TomlTable | null {
  const projected = projectTable(table, selection);
  return Object.keys(projected).length === 0 ? null : projected;
}

/** To be made once for all documents: there may be as many paths as a message has values. */
export function selectionOf(paths: readonly KeyPath[]): ReadonlyMap<string, Selection> {
  const selection = new Map<string, Selection>();
  for (const path of paths) select(selection, path);
  return selection;
}

function select(selection: Map<string, Selection>, path: KeyPath): void {
  let at = selection;
  for (const [depth, key] of path.entries()) {
    const known = at.get(key);
    if (known === "all") return;
    if (depth === path.length - 1) {
      at.set(key, "all");
      return;
    }
    const below = known ?? new Map<string, Selection>();
    at.set(key, below);
    at = below;
  }
}

function projectTable(table: TomlTable, selection: ReadonlyMap<string, Selection>): TomlTable {
  const projected: TomlTable = Object.create(null);
  for (const [key, value] of Object.entries(table)) {
    const wanted = selection.get(key);
    if (wanted === undefined) continue;
    projected[key] = wanted !== "all" && isTomlTable(value) ? projectTable(value, wanted) : value;
  }
  return projected;
}
