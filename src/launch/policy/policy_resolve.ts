/**
 * Turns what was asked for into what applies on this disk: follows links, lets the narrower entry win, protects the
 * directories of repositories and agents, and finds what would slip through.
 *
 * Pure except for the `HostTree` it asks. Entries that cannot be enforced are refused, never weakened. One example is
 * an entry that leads through a link which the confined program could replace.
 */

import { invalidRequest } from "../../errors.ts";
import type { PathAccess } from "../../protocol/sandbox.ts";
import { type FollowedLink, type FollowedPath, followPath, type HostTree } from "./host_tree.ts";
import type { Access, FilePolicy, MissingPath, PathRule } from "./policy.ts";
import type { PolicyEntry, RequestedFiles } from "./policy_entries.ts";
import { depthOf, isWithin, joinPath, lastName, parentPath } from "../../text_path.ts";

/**
 * Directly under a writable directory these stay read-only, or absent. They hold what tools outside the sandbox run or
 * trust (hooks, instructions, credentials). Only an entry that names one of them for writing makes it writable.
 */
export const PROTECTED_NAMES: readonly string[] = [".git", ".codex", ".agents", ".aws"];

/** What nobody may create is kept out by an empty directory for these, because that is what programs expect there. */
const DIRECTORY_NAMES: readonly string[] = [...PROTECTED_NAMES, ".claude", ".vscode"];

/** Matches of `files.globs`, found beforehand: the search takes time, everything here is quick. */
export function resolveFiles(files: RequestedFiles, globMatches: readonly string[], tree: HostTree): FilePolicy {
  const draft = new Draft(tree);
  const followed = files.entries.map((entry) => ({ entry, found: followPath(tree, entry.path) }));
  for (const { entry, found } of followed) draft.add(entry, found);
  for (const match of globMatches) draft.addMatch(followPath(tree, match));
  draft.protectNames();
  for (const { entry, found } of followed) draft.check(entry, found);
  return draft.finish();
}

interface DraftRule extends PathRule {
  /** An entry means its path; a match of a pattern means what is there now. */
  readonly isNamed: boolean;
}

class Draft {
  readonly #tree: HostTree;
  readonly #rules = new Map<string, DraftRule>();
  readonly #missing = new Map<string, MissingPath>();
  readonly #pinned = new Set<string>();
  readonly #links = new Map<string, FollowedLink>();
  #base: FilePolicy["base"] = "hidden";
  #isRootDenied = false;

  constructor(tree: HostTree) {
    this.#tree = tree;
  }

  add({ access }: PolicyEntry, found: FollowedPath): void {
    if (found.type !== "found") return;
    if (found.path === "/") this.#addBase(access);
    else this.#addRule(found, access, true);
  }

  /** A match of a pattern is hidden as it is. A matching link hides what it leads to. */
  addMatch(found: FollowedPath): void {
    if (found.type !== "found") return;
    if (found.path === "/") this.#addBase("deny");
    else this.#addRule(found, "deny", false);
  }

  /**
   * Denying the root means that the root itself grants nothing. Grants below it stay, unlike below any other denial.
   */
  #addBase(access: PathAccess): void {
    if (access === "deny") this.#isRootDenied = true;
    else if (this.#base !== "write") this.#base = access;
    if (this.#isRootDenied) this.#base = "hidden";
  }

  #addRule({ path, entry }: FollowedPath & { type: "found" }, wanted: PathAccess, isNamed: boolean): void {
    const access = wanted === "write" && this.#tree.isMadeUp(path) ? "read" : wanted;
    const before = this.#rules.get(path);
    if (before !== undefined && STRENGTH[before.access] >= STRENGTH[access]) return;
    const type = entry.type === "directory" ? "directory" : "file";
    const version = access === "deny" && entry.version !== undefined ? { version: entry.version } : {};
    this.#rules.set(path, {
      path,
      access,
      type,
      id: entry.id,
      ...version,
      isNamed: isNamed || before?.isNamed === true,
    });
  }

  protectNames(): void {
    const roots = [...this.#rules.values()].filter(({ path, type }) =>
      type === "directory" && this.#accessTo(path) === "write"
    ).map(({ path }) => path);
    if (this.#base === "write") roots.push("/");
    for (const root of roots) {
      for (const name of PROTECTED_NAMES) this.#protect(joinPath(root, name));
    }
  }

  #protect(path: string): void {
    if (this.#rules.has(path)) return;
    const found = this.#tree.look(path);
    if (found === "missing" || (found !== "blocked" && found.type === "placeholder")) {
      this.#keepMissing(path, "read");
      return;
    }
    if (found === "blocked") throw cannotConfine(path, `${parentPath(path)} cannot be searched`);
    if (found.type === "symlink") {
      throw cannotConfine(path, `${path} is a symbolic link that the program could replace`);
    }
    this.#addRule({ type: "found", path, entry: found, links: [] }, "read", true);
    if (found.type === "file" && lastName(path) === ".git") this.#protectGitDirectory(path);
  }

  /** A `.git` file says where the repository's directory is (worktrees, submodules). */
  #protectGitDirectory(pointer: string): void {
    const target = /^gitdir:\s*(.*\S)\s*$/m.exec(this.#tree.readStart(pointer) ?? "")?.[1];
    if (target === undefined) return;
    const found = followPath(this.#tree, target.startsWith("/") ? target : `${parentPath(pointer)}/${target}`);
    if (found.type !== "found" || this.#rules.has(found.path) || this.#accessTo(found.path) !== "write") return;
    // A pointer upwards would make the whole root read-only. No repository looks like that.
    if (isWithin(pointer, found.path)) return;
    this.#addRule(found, "read", true);
  }

  /** The checks that need all rules: for links, and for entries whose path does not exist. */
  check({ path, access }: PolicyEntry, found: FollowedPath): void {
    if (access === "write") {
      // It grants nothing, or only what is granted anyway.
      if (found.type !== "found" || this.#inherited(found.path) === "write") return;
    }
    this.#refuseReplaceableLinks(path, found.links);
    if (found.type === "found") {
      const granted = this.#accessTo(found.path);
      if (granted === "read" || granted === "write") this.#keepLinks(found.links);
    } else if (found.type === "missing") {
      this.#keepMissing(found.firstMissing, access);
    } else if (this.#accessTo(found.obstacle) === "write") {
      throw cannotConfine(path, `${found.obstacle} is not a directory that can be searched`);
    }
  }

  /**
   * The program decides where such a link leads. It could free the place of something protected, or have something else
   * granted to the next process under the same name.
   */
  #refuseReplaceableLinks(path: string, links: readonly FollowedLink[]): void {
    const link = links.find((link) => this.#accessTo(parentPath(link.path)) === "write");
    if (link === undefined) return;
    throw cannotConfine(path, `${link.path} is a symbolic link that the program could replace`);
  }

  #keepLinks(links: readonly FollowedLink[]): void {
    for (const link of links) {
      if (this.#accessTo(parentPath(link.path)) === "hidden") this.#links.set(link.path, link);
    }
  }

  /** There is something to prevent only where the program could create something. */
  #keepMissing(path: string, access: PathAccess): void {
    if (this.#accessTo(parentPath(path)) !== "write") return;
    const placeholder = DIRECTORY_NAMES.includes(lastName(path)) ? "directory" : "file";
    const isHidden = access === "deny" || this.#missing.get(path)?.isHidden === true;
    this.#missing.set(path, { path, placeholder, isHidden });
    this.#pinAbove(path);
  }

  /** Every writable directory between a path and the rule above it. The rule's own path is a mount and cannot move. */
  #pinAbove(path: string): void {
    for (let at = parentPath(path); at !== "/" && !this.#rules.has(at); at = parentPath(at)) {
      if (this.#accessTo(at) === "write") this.#pinned.add(at);
    }
  }

  finish(): FilePolicy {
    const rules: PathRule[] = [];
    for (const { isNamed, ...rule } of this.#sorted(this.#rules.values())) {
      const inherited = this.#inherited(rule.path);
      if (this.#accessTo(rule.path) !== rule.access) continue; // A read below a denial.
      // A writable root stays a rule of its own even inside another, so that it cannot be removed.
      if (rule.access !== "write" && rule.access === inherited) continue;
      if (rule.access === "deny" && inherited === "hidden" && !isNamed) continue;
      if (rule.access !== "write" && isNamed) this.#pinAbove(rule.path);
      rules.push(rule);
    }
    return {
      base: this.#base,
      rules,
      missing: this.#sorted(this.#missing.values()),
      pinned: this.#sorted([...this.#pinned].map((path) => ({ path }))).map(({ path }) => path),
      links: this.#sorted(this.#links.values()),
    };
  }

  /** Broad before narrow, then by name, so that the order of entries does not matter. */
  #sorted<T extends { readonly path: string }>(items: Iterable<T>): T[] {
    return [...items].sort((a, b) => depthOf(a.path) - depthOf(b.path) || (a.path < b.path ? -1 : 1));
  }

  #accessTo(path: string): Access {
    let access: Access = this.#base;
    for (const at of fromRoot(path)) {
      const rule = this.#rules.get(at);
      if (rule !== undefined && !(rule.access === "read" && access === "deny")) access = rule.access;
    }
    return access;
  }

  /** What would apply to a path without a rule of its own. */
  #inherited(path: string): Access {
    return this.#accessTo(parentPath(path));
  }
}

/** If one path is named several times: writing beats reading, and denial beats both. */
const STRENGTH: Readonly<Record<PathAccess, number>> = { read: 0, write: 1, deny: 2 };

/** `/a`, `/a/b`, `/a/b/c`. */
function* fromRoot(path: string): Generator<string> {
  for (let slash = path.indexOf("/", 1); slash !== -1; slash = path.indexOf("/", slash + 1)) yield path.slice(0, slash);
  if (path !== "/") yield path;
}

function cannotConfine(path: string, reason: string): Error {
  return invalidRequest(`Cannot apply the sandbox rule for ${path}: ${reason}`);
}
