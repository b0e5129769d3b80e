/**
 * The facts about the disk that a policy depends on, and how a path is followed by them.
 *
 * `HostTree` is the one place where the decisions of this folder touch the host: the server passes the real tree, tests
 * an invented one. `followPath` does what the kernel does with a path, step by step, because the steps matter: which
 * links were passed, and which part is the first that does not exist.
 */

export interface HostEntry {
  /** `placeholder`: made by us so that nobody else can make anything there; to a policy there is nothing. */
  readonly type: "file" | "directory" | "symlink" | "placeholder";
  /** Device and inode, or whatever else tells two things at one path apart. */
  readonly id: string;
  /** Of a file, where it can be had: changes whenever its names do, and with its content. */
  readonly version?: string;
}

export interface HostTree {
  /**
   * What lies at a path, without following a link at its end. `blocked` when that cannot be told: a parent may not be
   * searched, or is no directory.
   */
  look(path: string): HostEntry | "missing" | "blocked";
  /** The text of a link. */
  readLink(path: string): string;
  /** The beginning of a small file; null when it cannot be read. */
  readStart(path: string): string | null;
}

/** A link that was followed: where it lies, with every link before it resolved, and its text. */
export interface FollowedLink {
  readonly path: string;
  readonly target: string;
}

export type FollowedPath =
  | {
    readonly type: "found";
    readonly path: string;
    readonly entry: HostEntry;
    readonly links: readonly FollowedLink[];
  }
  /** `firstMissing` is the first part that does not exist. Its parent does, and is a directory. */
  | { readonly type: "missing"; readonly firstMissing: string; readonly links: readonly FollowedLink[] }
  /** `obstacle` is the last part that could be looked at: a file used as a directory, or a directory closed to us. */
  | { readonly type: "blocked"; readonly obstacle: string; readonly links: readonly FollowedLink[] };

/** The kernel's own limit on links in one path. */
const MAX_LINKS = 40;

/** Follows an absolute, normalised path to what it names. */
export function followPath(tree: HostTree, path: string): FollowedPath {
  const links: FollowedLink[] = [];
  const pending = segmentsOf(path).reverse();
  let current = "/";
  /** What lies at `current`; null for a directory that has been passed before and not been looked at again. */
  let entry: HostEntry | null = null;
  for (let segment = pending.pop(); segment !== undefined; segment = pending.pop()) {
    if (entry !== null && entry.type !== "directory") return { type: "blocked", obstacle: current, links };
    if (segment === "..") {
      current = parentOf(current);
      entry = null;
      continue;
    }
    const next = childOf(current, segment);
    const found = tree.look(next);
    if (found === "blocked") return { type: "blocked", obstacle: current, links };
    if (found === "missing" || found.type === "placeholder") return { type: "missing", firstMissing: next, links };
    if (found.type === "symlink") {
      const target = tree.readLink(next);
      links.push({ path: next, target });
      if (links.length > MAX_LINKS) return { type: "blocked", obstacle: next, links };
      pending.push(...segmentsOf(target).reverse());
      if (target.startsWith("/")) current = "/";
      entry = null;
    } else {
      current = next;
      entry = found;
    }
  }
  const found = entry ?? tree.look(current);
  if (found === "blocked") return { type: "blocked", obstacle: current, links };
  if (found === "missing") return { type: "missing", firstMissing: current, links };
  return { type: "found", path: current, entry: found, links };
}

function segmentsOf(path: string): string[] {
  return path.split("/").filter((segment) => segment !== "" && segment !== ".");
}

export function parentOf(path: string): string {
  const slash = path.lastIndexOf("/");
  return slash <= 0 ? "/" : path.slice(0, slash);
}

export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

export function childOf(directory: string, name: string): string {
  return directory === "/" ? `/${name}` : `${directory}/${name}`;
}

/** Whether `path` is `directory` or lies below it. Both are absolute and normalised. */
export function isWithin(path: string, directory: string): boolean {
  return directory === "/" || path === directory || path.startsWith(`${directory}/`);
}

/** How many names a path consists of: 0 for the root. */
export function depthOf(path: string): number {
  return path === "/" ? 0 : path.split("/").length - 1;
}
