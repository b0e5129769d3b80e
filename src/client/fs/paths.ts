/** Paths of the box, as users write them and as they are sent. */

import { parsePath, toFileUri } from "../../path_uri.ts";

/**
 * An absolute path (`/work/a b`), or a `file:` URI.
 *
 * ```ts
 * const path: BoxPath = new URL("file:///work/a%20b");
 * console.log(await box.fs.exists(path), await box.fs.exists("/work/a b"));
 * ```
 */
export type BoxPath = string | URL;

/**
 * The URI of a path, which every server understands.
 *
 * @throws {TypeError} when it is not absolute
 */
export function uriOf(path: BoxPath): string {
  const text = String(path);
  if (/^file:/i.test(text)) return text;
  if (!text.startsWith("/")) {
    throw new TypeError(
      `a path of the box must be absolute, so that it means the same everywhere: ${JSON.stringify(text)}`,
    );
  }
  return toFileUri(text);
}

/** The path of a URI. A name that is not UTF-8 stays a URI: no text can be its path. */
export function pathOf(uri: string): string {
  if (!/^file:/i.test(uri)) return uri;
  const { native } = parsePath(uri);
  return typeof native === "string" ? native : uri;
}

/** The directory of a path, and the name in it. */
export function splitPath(path: string): { directory: string; name: string } {
  const trimmed = path.replace(/\/+$/, "");
  const at = trimmed.lastIndexOf("/");
  return { directory: trimmed.slice(0, at) || "/", name: trimmed.slice(at + 1) };
}

/** A path below a directory. */
export function joinPath(directory: string, relative: string): string {
  return relative === "" ? directory : `${directory.replace(/\/+$/, "")}/${relative}`;
}
