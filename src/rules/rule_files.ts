/**
 * Reads the files of places, and finds out whether they have changed since. Reading is synchronous: a decision waits
 * for it, and the files are few and small.
 *
 * It takes regular files `*.rules`, sorted by name, but not those in subfolders. Symbolic links are skipped, as in the
 * reference, but they are listed, so that nobody relies on a rule that is not read.
 */

import { lstatSync, readdirSync, readFileSync, statSync } from "node:fs";
import { compareText } from "./language/equality.ts";
import { MAX_FILE_BYTES, MAX_FILES, MAX_SET_BYTES } from "./limits.ts";
import type { RuleFile } from "./load.ts";
import { type RulePlace, RULES_SUFFIX } from "./places.ts";

/** A file or directory that cannot be read. */
export class RuleReadError extends Error {
  override readonly name = "RuleReadError";
  readonly path: string;

  constructor(path: string, reason: string, cause?: unknown) {
    super(reason, { cause });
    this.path = path;
  }
}

export interface FoundFiles {
  readonly paths: readonly string[];
  /** Links and the like: they are left out, and that should be mentioned. */
  readonly skipped: readonly string[];
}

/** The files of the places, as they are now. */
export function findRuleFiles(places: readonly RulePlace[]): FoundFiles {
  const paths: string[] = [];
  const skipped: string[] = [];
  for (const place of places) {
    if (place.kind === "file") paths.push(place.path);
    else listDirectory(place, paths, skipped);
    if (paths.length > MAX_FILES) throw new RuleReadError(place.path, `more than ${MAX_FILES} rule files in all`);
  }
  return { paths, skipped };
}

function listDirectory({ path, mustExist }: RulePlace, paths: string[], skipped: string[]): void {
  try {
    const entries = readdirSync(path, { withFileTypes: true }).filter(({ name }) => name.endsWith(RULES_SUFFIX));
    // As the reference sorts, by bytes, and not by the user's language.
    entries.sort((a, b) => compareText(a.name, b.name));
    for (const entry of entries) {
      if (entry.isFile()) paths.push(`${path}/${entry.name}`);
      else if (!entry.isDirectory()) skipped.push(`${path}/${entry.name}`);
    }
  } catch (error) {
    if (isMissing(error) && !mustExist) return;
    throw readError(path, error);
  }
}

/** Reads them all; throws a `RuleReadError` for the first that cannot be read. */
export function readRuleFiles(paths: readonly string[]): RuleFile[] {
  let total = 0;
  return paths.map((path) => {
    const bytes = readBounded(path);
    total += bytes.length;
    if (total > MAX_SET_BYTES) throw new RuleReadError(path, `rule files exceed ${MAX_SET_BYTES >> 20} MiB in all`);
    try {
      return { path, text: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes) };
    } catch (error) {
      throw new RuleReadError(path, "stream did not contain valid UTF-8", error);
    }
  });
}

function readBounded(path: string): Uint8Array {
  try {
    const { size } = statSync(path);
    if (size > MAX_FILE_BYTES) throw new RuleReadError(path, `file exceeds ${MAX_FILE_BYTES >> 10} KiB`);
    const bytes = readFileSync(path);
    if (bytes.length > MAX_FILE_BYTES) throw new RuleReadError(path, `file exceeds ${MAX_FILE_BYTES >> 10} KiB`);
    return bytes;
  } catch (error) {
    throw error instanceof RuleReadError ? error : readError(path, error);
  }
}

/** What the files look like from outside: names, sizes and times. The same text means nothing has changed. */
export function fingerprint({ paths, skipped }: FoundFiles): { text: string; newestMs: number } {
  let newestMs = 0;
  const lines = paths.map((path) => {
    try {
      const { ino, size, mtimeNs, ctimeNs } = lstatSync(path, { bigint: true });
      newestMs = Math.max(newestMs, Number(mtimeNs / 1_000_000n), Number(ctimeNs / 1_000_000n));
      return `${path}\0${ino}\0${size}\0${mtimeNs}\0${ctimeNs}`;
    } catch {
      // Gone, or out of reach: reading it says why.
      return `${path}\0?`;
    }
  });
  return { text: [...lines, ...skipped].join("\n"), newestMs };
}

function isMissing(error: unknown): boolean {
  return (error as { code?: string }).code === "ENOENT";
}

function readError(path: string, error: unknown): RuleReadError {
  const { code, message } = error as { code?: string; message?: string };
  const known: Record<string, string> = {
    ENOENT: "No such file or directory",
    EACCES: "Permission denied",
    EISDIR: "Is a directory",
    ENOTDIR: "Not a directory",
  };
  return new RuleReadError(path, (code !== undefined ? known[code] : undefined) ?? message ?? String(error), error);
}
