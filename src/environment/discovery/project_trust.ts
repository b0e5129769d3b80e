/**
 * Where a project begins, and whether the user trusts it: only then does a repository's own configuration count.
 *
 * Trust is given in the user's own configuration, to a directory, to a project's root, or to a repository. A linked
 * worktree belongs to its repository only if the repository knows it.
 */

import { internalError } from "../../errors.ts";
import type { FileSystem } from "../../fs/file_system.ts";
import { ancestors, canonicalPath, exists, isDirectory, readOptionalText } from "../local_files.ts";
import type { Pace } from "./answer_room.ts";
import { isTomlTable, type TomlTable } from "./toml_document.ts";
import { joinPath, parentPath } from "../../text_path.ts";

/** What the user's configuration says about projects. */
export interface TrustSettings {
  readonly rootMarkers: readonly string[];
  readonly trust: ReadonlyMap<string, "trusted" | "untrusted">;
}

const DEFAULT_ROOT_MARKERS = [".git"];

/** A `.git` file, and what it names, are one line each. */
const MAX_GIT_FILE_BYTES = 4096;

/** From documents in the order in which they override each other. */
export function trustSettings(documents: readonly TomlTable[]): TrustSettings {
  let rootMarkers = DEFAULT_ROOT_MARKERS;
  const trust = new Map<string, "trusted" | "untrusted">();
  for (const { project_root_markers, projects } of documents) {
    if (project_root_markers !== undefined) {
      const markers: unknown = project_root_markers;
      if (!Array.isArray(markers) || !markers.every((marker) => typeof marker === "string")) {
        throw internalError("project_root_markers must be an array of strings");
      }
      rootMarkers = markers;
    }
    if (projects === undefined) continue;
    if (!isTomlTable(projects)) throw internalError("projects must be a table");
    for (const [path, project] of Object.entries(projects)) {
      if (!isTomlTable(project)) throw internalError("entries of projects must be tables");
      const { trust_level } = project;
      if (trust_level === undefined) continue;
      if (trust_level !== "trusted" && trust_level !== "untrusted") {
        throw internalError("trust_level must be `trusted` or `untrusted`");
      }
      trust.set(path, trust_level);
    }
  }
  return { rootMarkers, trust };
}

/** A linked worktree, and the checkout whose repository it belongs to. */
export interface Worktree {
  readonly root: string;
  readonly mainRoot: string;
}

export class Project {
  /** The nearest directory with a marker; the working directory itself when there is none. */
  readonly root: string;
  readonly worktree: Worktree | null;
  readonly #files: FileSystem;
  readonly #settings: TrustSettings;

  private constructor(files: FileSystem, settings: TrustSettings, root: string, worktree: Worktree | null) {
    this.#files = files;
    this.#settings = settings;
    this.root = root;
    this.worktree = worktree;
  }

  /** `pace`: a path has up to 2048 levels, and each takes system calls. */
  static async find(files: FileSystem, cwd: string, settings: TrustSettings, pace?: Pace): Promise<Project> {
    const root = await findRoot(files, cwd, settings.rootMarkers, pace);
    return new Project(files, settings, root, await findWorktree(files, cwd, pace));
  }

  /** From the root down to the working directory. */
  directories(cwd: string): string[] {
    const found: string[] = [];
    for (const directory of ancestors(cwd)) {
      found.push(directory);
      if (directory === this.root) break;
    }
    return found.reverse();
  }

  /** The setting of the directory itself decides, then that of the root, then that of the repository. */
  async isTrusted(directory: string): Promise<boolean> {
    for (const place of [directory, this.root, this.worktree?.mainRoot]) {
      if (place === undefined) continue;
      const canonical = await canonicalPath(this.#files, place);
      const level = this.#settings.trust.get(canonical) ?? this.#settings.trust.get(place);
      if (level !== undefined) return level === "trusted";
    }
    return false;
  }
}

async function findRoot(
  files: FileSystem,
  cwd: string,
  markers: readonly string[],
  pace: Pace | undefined,
): Promise<string> {
  if (markers.length === 0) return cwd;
  for (const directory of ancestors(cwd)) {
    for (const marker of markers) {
      if (pace?.isOver) await pace.rest();
      if (await isMarked(files, directory, marker)) return directory;
    }
  }
  return cwd;
}

/** An empty `.git` is not a repository: sandboxes leave such directories where nobody may create one. */
async function isMarked(files: FileSystem, directory: string, marker: string): Promise<boolean> {
  const path = joinPath(directory, marker);
  if (marker !== ".git" || !await isDirectory(files, path)) return await exists(files, path);
  return await exists(files, joinPath(path, "HEAD"));
}

async function findWorktree(files: FileSystem, cwd: string, pace: Pace | undefined): Promise<Worktree | null> {
  for (const root of ancestors(cwd)) {
    if (pace?.isOver) await pace.rest();
    const dotGit = joinPath(root, ".git");
    if (!await isMarked(files, root, ".git")) continue;
    return await isDirectory(files, dotGit) ? null : await linkedWorktree(files, root, dotGit);
  }
  return null;
}

/** `.git` contains `gitdir: MAIN/.git/worktrees/NAME`, and the file `gitdir` there leads back. */
async function linkedWorktree(files: FileSystem, root: string, dotGit: string): Promise<Worktree | null> {
  const target = /^gitdir: (\/.+)$/.exec(await firstLine(files, dotGit))?.[1];
  const gitDir = target === undefined ? undefined : /^(.+)\/\.git\/worktrees\/[^/]+$/.exec(target);
  const mainRoot = gitDir?.[1];
  if (target === undefined || mainRoot === undefined) return null;
  const back = await firstLine(files, joinPath(target, "gitdir"));
  // Without the way back any repository could claim to belong to a trusted one.
  const isKnown = back.startsWith("/") &&
    await canonicalPath(files, parentPath(back)) === await canonicalPath(files, root);
  return isKnown ? { root, mainRoot } : null;
}

async function firstLine(files: FileSystem, path: string): Promise<string> {
  try {
    const text = await readOptionalText(files, path, { maxBytes: MAX_GIT_FILE_BYTES, what: "Failed to read" });
    return (text ?? "").split("\n", 1)[0]!.trimEnd();
  } catch {
    return ""; // Unreadable or no such file: not a worktree.
  }
}
