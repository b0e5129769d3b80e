/** Absolute, normalised native paths that are text. `fs/byte_path.ts` has the same for paths as the kernel takes them. */

export function joinPath(directory: string, name: string): string {
  return directory.endsWith("/") ? directory + name : `${directory}/${name}`;
}

/** The directory a path lies in; the root's is the root. */
export function parentPath(path: string): string {
  return path.slice(0, path.lastIndexOf("/")) || "/";
}

/** The last component; empty for the root. */
export function lastName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

/** Whether `path` is `directory` or lies below it. */
export function isWithin(path: string, directory: string): boolean {
  return directory === "/" || path === directory || path.startsWith(`${directory}/`);
}

/** How many names a path consists of: 0 for the root. */
export function depthOf(path: string): number {
  return path === "/" ? 0 : path.split("/").length - 1;
}
