/**
 * Runs the test files below the given paths, or all of them, and sums up. Flags go to `deno test`.
 *
 * Limits, orphans and zombies belong to a whole process. A server has one to itself; the runtime's parallel tests are
 * threads of one, in which the children of one file would be marked, ended and reaped by another. So files that can
 * start children through the C library get a process each. Every file runs with the least set of permissions that
 * serves it. `--one-at-a-time` is for files that want the machine for themselves.
 */

import { pathToFileURL } from "node:url";
import { importingAll, type ModuleGraph, type Needs, needsOf, type Permissions } from "./runner/needs.ts";
import { parseWords, USAGE, UsageError, type Words } from "./runner/words.ts";

/** More than `deno test` writes from its summary on. */
const MAX_SUMMARY_CHARACTERS = 4096;

/** The runtime was asked for something that the set of permissions does not hold. */
const REFUSED = "NotCapable:";

const FLAGS: Readonly<Record<Permissions, string>> = { unit: "-P=unit", serve: "-P=serve", all: "--allow-all" };

interface Counts {
  passed: number;
  failed: number;
  ignored: number;
}

interface Outcome {
  readonly name: string;
  /** Null when it came to no end of its own. */
  readonly counts: Counts | null;
  readonly isOk: boolean;
}

type Listener = (bytes: Uint8Array<ArrayBuffer>) => void;

const print: Listener = (bytes) => {
  for (let rest = bytes; rest.length > 0;) rest = rest.subarray(Deno.stdout.writeSync(rest));
};

const startedAtMs = performance.now();
try {
  Deno.exit(await main() ? 0 : 1);
} catch (error) {
  if (!(error instanceof UsageError)) throw error;
  console.error(`test: ${error.message}`);
  Deno.exit(2);
}

/** Whether all is well. */
async function main(): Promise<boolean> {
  const words = parseWords(Deno.args);
  if (words.isHelp) {
    print(new TextEncoder().encode(USAGE));
    return true;
  }
  const paths = words.paths.length === 0 ? ["tests"] : words.paths;
  const files = [...new Set(paths.flatMap(testFilesBelow))].sort();
  const needs = await needsOfAll(files);
  const alone = files.flatMap((file, index) => needs[index]!.ownProcess ? [{ file, ...needs[index]! }] : []);

  // Before many processes at once would want the same packages.
  if (!(await deno(["cache", "--quiet", ...files], { stdout: print, stderr: print })).isOk) {
    return sumUp([{ name: "packages", counts: null, isOk: false }], words);
  }
  if (words.isOneAtATime) {
    const outcomes = [await checkTypes(files)];
    for (const [index, file] of files.entries()) {
      outcomes.push(await runAlone(file, needs[index]!.permissions, words, print));
    }
    return sumUp(outcomes, words);
  }
  const together = (["unit", "serve", "all"] as const).flatMap((permissions) => {
    const chosen = files.filter((_, index) => !needs[index]!.ownProcess && needs[index]!.permissions === permissions);
    return chosen.length === 0 ? [] : [() => runTogether(chosen, permissions, words)];
  });
  const single = alone.map(({ file, permissions }) => () => runBeside(file, permissions, words));
  return sumUp(await runAll(together, [() => checkTypes(files), ...single]), words);
}

/** A file that is named is tested whatever it is called. */
function testFilesBelow(path: string): string[] {
  if (statOf(path).isFile) return [path];
  const files = testFilesIn(path);
  if (files.length === 0) throw new UsageError(`no file below ${JSON.stringify(path)} ends in _test.ts`);
  return files;
}

function statOf(path: string): Deno.FileInfo {
  try {
    return Deno.statSync(path);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    throw new UsageError(`no such file or folder: ${JSON.stringify(path)}`);
  }
}

function testFilesIn(folder: string): string[] {
  const found: string[] = [];
  for (const { name, isDirectory } of Deno.readDirSync(folder)) {
    const inside = `${folder.replace(/\/$/, "")}/${name}`;
    if (isDirectory) found.push(...testFilesIn(inside));
    else if (name.endsWith("_test.ts")) found.push(inside);
  }
  return found;
}

async function needsOfAll(files: readonly string[]): Promise<Needs[]> {
  const urls = files.map((file) => pathToFileURL(file));
  // Only standard output is JSON: the runtime reports on standard error, such as what it downloads.
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["info", "--json", importingAll(urls)],
    stdin: "null",
  }).output();
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  if (!success) throw new Error(`cannot tell what the test files import: ${text(stderr)}`);
  const graph: ModuleGraph = JSON.parse(text(stdout));
  return needsOf(urls, graph, (module) => Deno.readTextFileSync(module));
}

/** Of all at once: each of the processes would look through nearly the whole program. Beside the first tests. */
async function checkTypes(files: readonly string[]): Promise<Outcome> {
  const output: Uint8Array<ArrayBuffer>[] = [];
  const listen: Listener = (bytes) => void output.push(bytes.slice());
  const { isOk } = await deno(["check", "--quiet", ...files], { stdout: listen, stderr: listen });
  output.forEach(print);
  return { name: "types", counts: null, isOk };
}

async function runTogether(files: readonly string[], permissions: Permissions, words: Words): Promise<Outcome> {
  const name = `${files.length} files together (${FLAGS[permissions]})`;
  return await run(name, ["--parallel", FLAGS[permissions], ...words.options, ...files], print);
}

async function runAlone(file: string, permissions: Permissions, words: Words, listen: Listener): Promise<Outcome> {
  return await run(`${file} (${FLAGS[permissions]})`, [FLAGS[permissions], ...words.options, file], listen);
}

/** Prints all it has to say when it has ended: others run at the same time. */
async function runBeside(file: string, permissions: Permissions, words: Words): Promise<Outcome> {
  const output: Uint8Array<ArrayBuffer>[] = [];
  const outcome = await runAlone(file, permissions, words, (bytes) => void output.push(bytes.slice()));
  const isSkipped = words.filter !== null && outcome.isOk && countOf(outcome.counts) === 0;
  if (!isSkipped) output.forEach(print);
  return outcome;
}

/** Quiet: the runtime would say in each run that sets of permissions are new. */
async function run(name: string, args: readonly string[], listen: Listener): Promise<Outcome> {
  let tail = "";
  let wasRefused = false;
  const decoder = new TextDecoder();
  const listener: Listener = (bytes) => {
    listen(bytes);
    tail += decoder.decode(bytes, { stream: true });
    wasRefused ||= tail.includes(REFUSED);
    tail = tail.slice(-MAX_SUMMARY_CHARACTERS);
  };
  const { isOk } = await deno(["test", "--quiet", "--no-check", ...args], { stdout: listener, stderr: listener });
  const hint = wasRefused && !isOk ? ": too few permissions, tests/runner/needs.ts says who gets which" : "";
  return { name: `${name}${hint}`, counts: summaryIn(tail), isOk };
}

function summaryIn(text: string): Counts | null {
  // deno-lint-ignore no-control-regex
  const plain = text.replace(/\x1b\[[\d;]*m/g, "");
  const pattern = /(\d+) passed(?: \(.*?\))? \| (\d+) failed(?: \(.*?\))?(?: \| (\d+) ignored)?/g;
  const last = [...plain.matchAll(pattern)].at(-1);
  if (last === undefined) return null;
  return { passed: Number(last[1]), failed: Number(last[2]), ignored: Number(last[3] ?? 0) };
}

function countOf(counts: Counts | null): number {
  return counts === null ? 0 : counts.passed + counts.failed + counts.ignored;
}

async function deno(
  args: readonly string[],
  { stdout, stderr }: { stdout: Listener; stderr: Listener },
): Promise<{ isOk: boolean }> {
  const isTerminal = Deno.stdout.isTerminal() && Deno.env.get("NO_COLOR") === undefined;
  const command = new Deno.Command(Deno.execPath(), {
    args: [...args],
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
    ...(isTerminal ? { env: { FORCE_COLOR: "1" } } : {}),
  });
  let child: Deno.ChildProcess;
  try {
    child = command.spawn();
  } catch (error) {
    // A machine without room for one more process: this run has failed, and the others still count.
    stderr(new TextEncoder().encode(`${error}\n`));
    return { isOk: false };
  }
  const readAll = async (stream: ReadableStream<Uint8Array<ArrayBuffer>>, listen: Listener) => {
    for await (const bytes of stream) listen(bytes);
  };
  const [status] = await Promise.all([child.status, readAll(child.stdout, stdout), readAll(child.stderr, stderr)]);
  return { isOk: status.success };
}

/**
 * One after the other the runs that are parallel in themselves, and beside them, then in their place, the others: as many
 * at a time as there are processors. Most tests wait for something, and a run ends with the slowest of its files.
 */
async function runAll(
  together: readonly (() => Promise<Outcome>)[],
  single: readonly (() => Promise<Outcome>)[],
): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  const left = [...single];
  const worker = async (first: readonly (() => Promise<Outcome>)[]) => {
    for (const run of first) outcomes.push(await run());
    for (let run = left.shift(); run !== undefined; run = left.shift()) outcomes.push(await run());
  };
  const others = Array.from({ length: Math.max(1, navigator.hardwareConcurrency - 1) }, () => worker([]));
  await Promise.all([worker(together), ...others]);
  return outcomes;
}

/** Whether all is well, which takes at least one test. */
function sumUp(outcomes: readonly Outcome[], { filter }: Words): boolean {
  const sum: Counts = { passed: 0, failed: 0, ignored: 0 };
  for (const { name, counts, isOk } of outcomes) {
    sum.passed += counts?.passed ?? 0;
    // What went wrong outside of any test counts, too.
    sum.failed += isOk ? 0 : Math.max(1, counts?.failed ?? 0);
    sum.ignored += counts?.ignored ?? 0;
    if (!isOk) console.log(`FAILED: ${name}`);
  }
  const isOk = sum.failed === 0 && countOf(sum) > 0;
  const seconds = Math.round((performance.now() - startedAtMs) / 1000);
  if (countOf(sum) === 0) {
    console.log(
      `FAILED: no test ${filter === null ? "was found" : `has a name that matches ${JSON.stringify(filter)}`}`,
    );
  }
  console.log(
    `\n${isOk ? "ok" : "FAILED"} | ${sum.passed} passed | ${sum.failed} failed | ${sum.ignored} ignored (${seconds}s)`,
  );
  return isOk;
}
