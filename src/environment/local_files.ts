/** Small text files and questions about paths, on top of the filesystem: what reading configuration needs of it. */

import { concatBytes } from "../bytes.ts";
import { DomainError, internalError, messageOf } from "../errors.ts";
import type { FileSystem } from "../fs/file_system.ts";
import type { NativePath } from "../path_uri.ts";
import { parentPath } from "../text_path.ts";

/** Bytes of a file, with one more than allowed when it is too large. */
export async function readStart(
  files: FileSystem,
  path: NativePath,
  maxBytes: number,
  signal?: AbortSignal,
): Promise<Uint8Array<ArrayBuffer>> {
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  await files.readFile({ path, followSymlinks: true, offset: 0, length: maxBytes + 1 }, (piece) => {
    pieces.push(piece.slice());
  }, signal);
  return concatBytes(pieces);
}

/** The text of a file; null when there is none. `what` begins the error about one that cannot be read. */
export async function readOptionalText(
  files: FileSystem,
  path: string,
  { maxBytes, what }: { maxBytes: number; what: string },
): Promise<string | null> {
  let bytes: Uint8Array<ArrayBuffer>;
  try {
    bytes = await readStart(files, path, maxBytes);
  } catch (error) {
    if (error instanceof DomainError && error.kind === "notFound") return null;
    throw internalError(`${what} ${path}: ${messageOf(error)}`, error);
  }
  if (bytes.length > maxBytes) throw internalError(`${what} ${path}: it has more than ${maxBytes} bytes`);
  const text = decodeUtf8(bytes);
  if (text === null) throw internalError(`${what} ${path}: it is not UTF-8`);
  return text;
}

export async function exists(files: FileSystem, path: string): Promise<boolean> {
  return await kindOf(files, path) !== null;
}

export async function isDirectory(files: FileSystem, path: string): Promise<boolean> {
  return await kindOf(files, path) === "directory";
}

/** What a path leads to; null when it leads nowhere, or that is not known. */
async function kindOf(files: FileSystem, path: string): Promise<"directory" | "other" | null> {
  try {
    const { isDirectory } = await files.getMetadata({ path, followSymlinks: true, fields: [] });
    return isDirectory ? "directory" : "other";
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    return null;
  }
}

/** The path without links; as it is when it leads nowhere. */
export async function canonicalPath(files: FileSystem, path: string): Promise<string> {
  try {
    const canonical = await files.canonicalize(path);
    return typeof canonical === "string" ? canonical : path;
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    return path;
  }
}

/** A byte order mark is content: what reads the text decides what it means. */
export function decodeUtf8(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null; // Not UTF-8.
  }
}

/** The path itself, then its parents up to the root. */
export function* ancestors(path: string): Generator<string> {
  for (let at = path;; at = parentPath(at)) {
    yield at;
    if (at === "/") return;
  }
}
