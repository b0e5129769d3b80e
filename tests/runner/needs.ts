/**
 * What a test file needs to run: a process of its own or not, and which permissions. Both follow from what it leads to,
 * so that nobody has to keep lists: one `deno info` says what all of the files import.
 *
 * A wrong answer about permissions is loud: Deno refuses what was not granted, and the test fails.
 */

/** Sets of `deno.json`, from few to many; `all` is `--allow-all`. */
export type Permissions = "unit" | "serve" | "all";

export interface Needs {
  readonly ownProcess: boolean;
  readonly permissions: Permissions;
}

/** The part of `deno info --json` that counts. */
export interface ModuleGraph {
  readonly modules: readonly {
    readonly specifier: string;
    readonly dependencies?: readonly { readonly code?: { readonly specifier?: string } }[];
  }[];
}

/** Whatever leads here takes its process for its own: it has limits and a control group for all of its children. */
const STARTS_CHILDREN = /\/src\/os\/children\/child_(limits|cgroup)\.ts$/;
/** Whatever leads here may call the C library. */
const CALLS_C_LIBRARY = /\/src\/os\/libc\.ts$/;
/** The program under test. It is passed its effects, so what counts is which ones the tests' own modules have. */
const PROGRAM = /\/(src|sandbox)\/|\/main\.ts$/;

/** Deno opens these files to nothing less than all permissions. Control groups are known by what lies in them. */
const OPENS_KERNEL_FILES = /\bDeno\.\w+\(\s*["'`]\/(proc|sys|dev)\b|\/cgroup\.(procs|threads)\b/;
/** Counts the descriptors of its process: other tests in the same one would count, too. */
const COUNTS_DESCRIPTORS = /\bDeno\.readDir(Sync)?\(\s*["'`]\/proc\/self\/fd\b/;
/** Any use of the runtime but declaring tests, and reading what the set `unit` lets read. */
const HAS_EFFECTS = /\bDeno\.(?!(test|errors|build|inspect|env|args|readTextFile|readTextFileSync|readDirSync)\b)/;

/** One module that imports them all, for `deno info`: far below the 128 KiB that Linux takes as one argument. */
export function importingAll(files: readonly URL[]): string {
  const source = files.map(({ href }) => `import ${JSON.stringify(href)};`).join("");
  return `data:application/typescript,${encodeURIComponent(source)}`;
}

/** What each of the files needs, in order. `readText` is asked once for each module of the tests. */
export function needsOf(files: readonly URL[], graph: ModuleGraph, readText: (module: URL) => string): Needs[] {
  const importsOf = new Map(
    graph.modules.map(({ specifier, dependencies = [] }) => [
      specifier,
      dependencies.flatMap(({ code }) => code?.specifier ?? []),
    ]),
  );
  const texts = new Map<string, string>();
  const textOf = (module: string): string => {
    if (!texts.has(module)) texts.set(module, readText(new URL(module)));
    return texts.get(module)!;
  };
  return files.map(({ href }) => {
    if (!importsOf.has(href)) throw new Error(`cannot tell what ${href} imports`);
    const reached = allFrom(href, importsOf);
    const ofTests = reached.filter((module) => module.startsWith("file:") && !PROGRAM.test(module)).map(textOf);
    const some = (pattern: RegExp) => reached.some((module) => pattern.test(module));
    return {
      ownProcess: some(STARTS_CHILDREN) || ofTests.some((text) => COUNTS_DESCRIPTORS.test(text)),
      permissions: ofTests.some((text) => OPENS_KERNEL_FILES.test(text))
        ? "all"
        : some(CALLS_C_LIBRARY) || ofTests.some((text) => HAS_EFFECTS.test(text))
        ? "serve"
        : "unit",
    };
  });
}

function allFrom(root: string, importsOf: ReadonlyMap<string, readonly string[]>): string[] {
  const reached = new Set([root]);
  // A set goes on to what is added to it on the way.
  for (const module of reached) importsOf.get(module)?.forEach((imported) => reached.add(imported));
  return [...reached];
}
