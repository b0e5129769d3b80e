/** Paths of programs, only as texts: the disk is not asked, so a decision is the same everywhere. */

/** An absolute path without `.`, `..` and doubled slashes; `..` of the root is the root. */
function normalPath(path: string): string {
  const parts: string[] = [];
  for (const part of path.split("/")) {
    if (part === "..") parts.pop();
    else if (part !== "" && part !== ".") parts.push(part);
  }
  return `/${parts.join("/")}`;
}

/** Whether it is one name without a path. */
export function isBareName(name: string): boolean {
  return name !== "" && name !== "." && name !== ".." && !name.includes("/");
}

/** A path as `host_executable` lists it; null when it is not absolute. */
export function hostExecutablePath(path: string): string | null {
  return path.startsWith("/") ? normalPath(path) : null;
}

export interface ProgramPlace {
  /** Relative programs are below it. */
  readonly cwd: string;
  /** What `~/` stands for; null when that is unknown. */
  readonly home: string | null;
}

/** The first word of a command as an absolute path; null when it has none. */
export function programPath(program: string, { cwd, home }: ProgramPlace): string | null {
  if (program === "") return null;
  if (program === "~" || program.startsWith("~/")) return home === null ? null : normalPath(home + program.slice(1));
  return normalPath(program.startsWith("/") ? program : `${cwd}/${program}`);
}

/** The last part of a normal path; empty for the root. */
export function baseName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}
