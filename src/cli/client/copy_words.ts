/** What the words of `cp` mean: which way, and what goes where. Looks at both sides, and changes nothing. */

import { quoted, usageError } from "../cli_error.ts";

export interface CopyWords {
  readonly sources: readonly string[];
  readonly target: string;
  /** False: from the box. */
  readonly toBox: boolean;
}

/** One source and the exact path it is copied to. */
export interface CopyStep {
  readonly from: string;
  readonly to: string;
}

export interface CopyPlaces {
  boxPath(path: string): string;
  isBoxDirectory(path: string): Promise<boolean>;
  isLocalDirectory(path: string): Promise<boolean>;
}

/** A path that begins with a colon is on the box. `./:x` is a local file of that name. */
export function readCopyWords(words: readonly string[]): CopyWords {
  if (words.length < 2) throw usageError("source or destination is missing: exec-server cp SRC... DST");
  const sources = words.slice(0, -1);
  const target = words.at(-1)!;
  const toBox = target.startsWith(":");
  for (const source of sources) {
    if (source.startsWith(":") !== toBox) continue;
    const sides = toBox ? "both are on the box (exec -- cp copies there)" : 'both are here (":PATH" is on the box)';
    throw usageError(`cannot copy ${quoted(source)} to ${quoted(target)}: ${sides}`);
  }
  const bare = (word: string) => word.startsWith(":") ? word.slice(1) : word;
  return { sources: sources.map(bare), target: bare(target), toBox };
}

/** In an existing directory, or one that ends with a slash, everything keeps its name. */
export async function copySteps({ sources, target, toBox }: CopyWords, places: CopyPlaces): Promise<CopyStep[]> {
  const here = target.replace(/(?<=.)\/+$/, "");
  const base = toBox ? places.boxPath(target) : here === "" ? "." : here;
  const isDirectory = target === "" || target.endsWith("/") ||
    await (toBox ? places.isBoxDirectory(base) : places.isLocalDirectory(base));
  if (sources.length > 1 && !isDirectory) {
    throw usageError(`cannot copy ${sources.length} things to ${quoted(target)}: it is not a directory`);
  }
  return sources.map((source) => {
    const from = toBox ? source : places.boxPath(source);
    return { from, to: isDirectory ? below(base, from, source) : base };
  });
}

/** `dir/.` and `dir/..` have no name of their own: what is in them is merged. */
function below(base: string, from: string, written: string): string {
  const name = from.replace(/\/+$/, "").split("/").at(-1)!;
  if (name === "" || name === "." || name === ".." || written === "") return base;
  return `${base === "/" ? "" : base}/${name}`;
}
