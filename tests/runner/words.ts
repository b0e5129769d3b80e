/** The words after `deno task test`: which paths to test, and what to hand on to `deno test`. Touches no file. */

/** What cannot be run as asked: one line for stderr. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

export interface Words {
  readonly paths: readonly string[];
  /** For `deno test`, each flag with its value. */
  readonly options: readonly string[];
  /** What `--filter` was given; null without it. */
  readonly filter: string | null;
  readonly isOneAtATime: boolean;
  readonly isHelp: boolean;
}

/** Flags of `deno test` whose value may be the next word. All others carry it after an equals sign, or have none. */
const WITH_VALUE = new Set([
  ...["--filter", "--reporter", "--junit-path", "--retry", "--repeats", "--shard", "--seed", "--related", "--location"],
  ...["--config", "-c", "--import-map", "--cert", "--ext", "--preload", "--require", "--conditions"],
  ...["--coverage-threshold", "--node-modules-linker", "--min-dep-age", "--inspect-publish-uid"],
]);

export const USAGE = `Usage: deno task test [--one-at-a-time] [FILE or FOLDER]... [flags of deno test]

Runs all tests, or those of the files and folders named. Examples:
  deno task test tests/process/
  deno task test tests/process/session/manager_test.ts --filter resize

--one-at-a-time runs the files one after the other and prints what they say at once: for those that measure, fill the
machine, or take long.
`;

export function parseWords(args: readonly string[]): Words {
  const paths: string[] = [];
  const options: string[] = [];
  let filter: string | null = null;
  let isOneAtATime = false;
  for (let index = 0; index < args.length; index++) {
    const word = args[index]!;
    if (!word.startsWith("-")) {
      paths.push(word);
      continue;
    }
    if (word === "--one-at-a-time") {
      isOneAtATime = true;
      continue;
    }
    // The rest is for the tests themselves: it has to stay behind the files, where no flag of ours can go.
    if (word === "--") throw new UsageError(`words after "--" are for a program: no test takes any`);
    const [name = "", inWord] = split(word);
    const hasNextWord = WITH_VALUE.has(name) && inWord === undefined;
    const value = hasNextWord ? args[++index] : inWord;
    if (hasNextWord && value === undefined) throw new UsageError(`${name} needs a value`);
    if (name === "--filter") filter = value!;
    // One word: a value that begins with a dash is still a value.
    options.push(hasNextWord && name.startsWith("--") ? `${name}=${value}` : word);
    if (hasNextWord && !name.startsWith("--")) options.push(value!);
  }
  const isHelp = options.some((word) => word === "--help" || word === "-h");
  return { paths, options, filter, isOneAtATime, isHelp };
}

/** `--name=value` in two, at its first equals sign. */
function split(word: string): [name: string, value?: string] {
  const at = word.indexOf("=");
  return at < 0 ? [word] : [word.slice(0, at), word.slice(at + 1)];
}
