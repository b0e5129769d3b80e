/** An invented disk: paths and what lies there. Parents come into being by themselves. */

import type { DirectoryLister, ListedName } from "../../src/launch/policy/glob_scan.ts";
import { type HostEntry, type HostTree } from "../../src/launch/policy/host_tree.ts";
import { joinPath, lastName, parentPath } from "../../src/text_path.ts";

export type FakeEntry =
  | "directory"
  | "placeholder"
  /** A directory that cannot be searched. */
  | "closed"
  /** A directory that a mount of the kernel's own begins with. */
  | "madeUp"
  | { readonly file: string }
  | { readonly link: string };

export class FakeTree implements HostTree, DirectoryLister {
  readonly #entries = new Map<string, FakeEntry>([["/", "directory"]]);
  /** Directories that were listed, in order. */
  readonly listed: string[] = [];

  constructor(entries: Readonly<Record<string, FakeEntry>>) {
    for (const [path, entry] of Object.entries(entries)) {
      for (let parent = parentPath(path); !this.#entries.has(parent); parent = parentPath(parent)) {
        this.#entries.set(parent, "directory");
      }
      this.#entries.set(path, entry);
    }
  }

  /** The path itself is the identity: enough to see which thing a rule is about. */
  look(path: string): HostEntry | "missing" | "blocked" {
    const parent = this.#entries.get(parentPath(path));
    if (path !== "/" && (parent === "closed" || typeof parent === "object")) return "blocked";
    const entry = this.#entries.get(path);
    if (entry === undefined) return "missing";
    if (entry === "placeholder") return { type: "placeholder", id: path };
    if (typeof entry === "string") return { type: "directory", id: path };
    return { type: "link" in entry ? "symlink" : "file", id: path };
  }

  readLink(path: string): string {
    const entry = this.#entries.get(path);
    if (typeof entry !== "object" || !("link" in entry)) throw new Error(`no link: ${path}`);
    return entry.link;
  }

  readStart(path: string): string | null {
    const entry = this.#entries.get(path);
    return typeof entry === "object" && "file" in entry ? entry.file : null;
  }

  isMadeUp(path: string): boolean {
    for (let at = path; at !== "/"; at = parentPath(at)) if (this.#entries.get(at) === "madeUp") return true;
    return false;
  }

  list(path: string): Promise<readonly ListedName[]> {
    this.listed.push(path);
    const names = [...this.#entries.keys()].filter((other) => other !== "/" && parentPath(other) === path).map(
      lastName,
    );
    return Promise.resolve(names.map((name) => {
      const entry = this.#entries.get(joinPath(path, name));
      return { name, isDirectory: typeof entry === "string", isUsable: !name.includes("\uFFFD") };
    }));
  }
}
