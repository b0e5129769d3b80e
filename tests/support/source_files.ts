/** The source files of this project and their import lines, for tests that look at the code as text. */

import assert from "node:assert/strict";

export const ROOT = new URL("../..", import.meta.url);

export interface SourceFile {
  /** From the root. */
  readonly file: string;
  readonly text: string;
}

export interface ImportLine {
  readonly file: string;
  readonly specifier: string;
}

/** The import lines of the files of a folder, or of one file. */
export function importsOf(place: string): ImportLine[] {
  return sourceFiles(place).flatMap(({ file, text }) => {
    const pattern =
      /(?:^|\n)\s*(?:import|export)\b[^;'"]*?from\s+"([^"]+)"|\bimport\("([^"]+)"\)|(?:^|\n)import "([^"]+)"/g;
    return [...text.matchAll(pattern)].map((match) => ({ file, specifier: (match[1] ?? match[2] ?? match[3])! }));
  });
}

/** The files of a folder, or one file. A folder without any is a mistake of the test's: every rule would hold for it. */
export function sourceFiles(place: string, ending = ".ts"): SourceFile[] {
  const files = Array.from(
    place.endsWith(ending) ? [place] : filesBelow(place, ending),
    (file) => ({ file, text: Deno.readTextFileSync(new URL(file, ROOT)) }),
  );
  assert.ok(files.length > 0, `${place} has no files to look at`);
  return files;
}

export function* filesBelow(folder: string, ending = ".ts"): Generator<string> {
  for (const entry of Deno.readDirSync(new URL(folder, ROOT))) {
    const file = `${folder}/${entry.name}`;
    if (entry.isDirectory) yield* filesBelow(file, ending);
    else if (file.endsWith(ending)) yield file;
  }
}

/** The file an import line leads to, from the root; a package's name stays what it is. */
export function targetOf(file: string, specifier: string): string {
  if (!specifier.startsWith(".")) return specifier;
  return new URL(specifier, new URL(file, ROOT)).pathname.slice(ROOT.pathname.length);
}
