/** The part of a document that was asked for, and nothing beside it. Pure. */

import type { KeyPath } from "../../protocol/environment_config.ts";
import { isTomlTable, type TomlTable } from "./toml_document.ts";

/** Keys that are wanted; `all` when everything below is. */
type Selection = "all" | Map<string, Selection>;

/**
 * What lies on or below the paths; null when there is nothing. A value that is not a table stands for all paths through it,
 * because it overrides the tables of other layers; for the same reason a table on the way stays, if only as an empty one.
 */
export function projectToml(table: TomlTable, paths: readonly KeyPath[]): TomlTable | null {
  const selection: Selection = new Map();
  for (const path of paths) select(selection, path);
  const projected = projectTable(table, selection);
  return Object.keys(projected).length === 0 ? null : projected;
}

function select(selection: Map<string, Selection>, [key, ...rest]: KeyPath): void {
  if (key === undefined) return;
  const known = selection.get(key);
  if (known === "all") return;
  if (rest.length === 0) {
    selection.set(key, "all");
    return;
  }
  const below = known ?? new Map<string, Selection>();
  selection.set(key, below);
  select(below, rest);
}

function projectTable(table: TomlTable, selection: Map<string, Selection>): TomlTable {
  const projected: TomlTable = Object.create(null);
  for (const [key, value] of Object.entries(table)) {
    const wanted = selection.get(key);
    if (wanted === undefined) continue;
    projected[key] = wanted !== "all" && isTomlTable(value) ? projectTable(value, wanted) : value;
  }
  return projected;
}
