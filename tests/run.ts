/**
 * Runs the test files below the given paths, or all of them, and sums up. Words that begin with a dash go to `deno test`.
 *
 * Limits, orphans and zombies belong to a whole process. A server has one to itself; the runtime's parallel tests are
 * threads of one, in which the children of one file would be marked, ended and reaped by another. So files that can
 * start children through the C library get a process each.
 */

/** Whatever leads here takes its process for its own. */
const STARTS_CHILDREN = "/src/os/child_limits.ts";

/** More than `deno test` writes from its summary on. */
const MAX_SUMMARY_CHARACTERS = 4096;

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
const options = Deno.args.filter((word) => word.startsWith("-"));
const paths = Deno.args.filter((word) => !word.startsWith("-"));
const files = (paths.length === 0 ? ["tests"] : paths).flatMap(testFilesIn).sort();
const needsProcess = await inParallel(files, startsChildren);
const apart = files.filter((_, index) => needsProcess[index]);
const together = files.filter((_, index) => !needsProcess[index]);

const outcomes: Outcome[] = [];
if (together.length > 0) outcomes.push(await runTogether(together));
if (apart.length > 0) {
  // All types at once: each of the processes would look through nearly the whole program.
  const areTypesRight = (await deno(["check", "--quiet", ...apart], print)).isOk;
  if (areTypesRight) outcomes.push(...await inParallel(apart, runAlone));
  else outcomes.push({ name: "types", counts: null, isOk: false });
}
const isOk = sumUp(outcomes);
Deno.exit(isOk ? 0 : 1);

function testFilesIn(path: string): string[] {
  if (Deno.statSync(path).isFile) return [path];
  const found: string[] = [];
  for (const { name, isDirectory } of Deno.readDirSync(path)) {
    const inside = `${path.replace(/\/$/, "")}/${name}`;
    if (isDirectory) found.push(...testFilesIn(inside));
    else if (name.endsWith("_test.ts")) found.push(inside);
  }
  return found;
}

async function startsChildren(file: string): Promise<boolean> {
  const output: string[] = [];
  const decoder = new TextDecoder();
  const { isOk } = await deno(
    ["info", "--json", file],
    (bytes) => void output.push(decoder.decode(bytes, { stream: true })),
  );
  if (!isOk) throw new Error(`cannot tell what ${file} imports`);
  const { modules }: { modules: { specifier: string }[] } = JSON.parse(output.join(""));
  return modules.some(({ specifier }) => specifier.endsWith(STARTS_CHILDREN));
}

async function runTogether(files: readonly string[]): Promise<Outcome> {
  return await run(`${files.length} files together`, ["--parallel", ...files], print);
}

/** Prints all it has to say when it has ended: others run at the same time. */
async function runAlone(file: string): Promise<Outcome> {
  const output: Uint8Array<ArrayBuffer>[] = [];
  const outcome = await run(file, ["--no-check", file], (bytes) => void output.push(bytes.slice()));
  output.forEach(print);
  return outcome;
}

async function run(name: string, args: readonly string[], listen: Listener): Promise<Outcome> {
  let tail = "";
  const decoder = new TextDecoder();
  const { isOk } = await deno(["test", "--allow-all", ...options, ...args], (bytes) => {
    listen(bytes);
    tail = (tail + decoder.decode(bytes, { stream: true })).slice(-MAX_SUMMARY_CHARACTERS);
  });
  return { name, counts: summaryIn(tail), isOk };
}

function summaryIn(text: string): Counts | null {
  // deno-lint-ignore no-control-regex
  const plain = text.replace(/\x1b\[\d*m/g, "");
  const pattern = /(\d+) passed(?: \(.*?\))? \| (\d+) failed(?: \(.*?\))?(?: \| (\d+) ignored)?/g;
  const last = [...plain.matchAll(pattern)].at(-1);
  if (last === undefined) return null;
  return { passed: Number(last[1]), failed: Number(last[2]), ignored: Number(last[3] ?? 0) };
}

/** Everything it writes goes to `listen`. */
async function deno(args: readonly string[], listen: Listener): Promise<{ isOk: boolean }> {
  const isTerminal = Deno.stdout.isTerminal() && Deno.env.get("NO_COLOR") === undefined;
  const child = new Deno.Command(Deno.execPath(), {
    args: [...args],
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
    ...(isTerminal ? { env: { FORCE_COLOR: "1" } } : {}),
  }).spawn();
  const readAll = async (stream: ReadableStream<Uint8Array<ArrayBuffer>>) => {
    for await (const bytes of stream) listen(bytes);
  };
  const [status] = await Promise.all([child.status, readAll(child.stdout), readAll(child.stderr)]);
  return { isOk: status.success };
}

/** As many at a time as there are processors; results in order. */
async function inParallel<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  let next = 0;
  const worker = async () => {
    while (next < items.length) {
      const index = next++;
      results[index] = await work(items[index]!);
    }
  };
  await Promise.all(Array.from({ length: navigator.hardwareConcurrency }, worker));
  return results;
}

/** Whether all is well, which takes at least one file. */
function sumUp(outcomes: readonly Outcome[]): boolean {
  const sum: Counts = { passed: 0, failed: 0, ignored: 0 };
  for (const { name, counts, isOk } of outcomes) {
    sum.passed += counts?.passed ?? 0;
    // What went wrong outside of any test counts, too.
    sum.failed += isOk ? 0 : Math.max(1, counts?.failed ?? 0);
    sum.ignored += counts?.ignored ?? 0;
    if (!isOk) console.log(`FAILED: ${name}`);
  }
  const isOk = sum.failed === 0 && outcomes.length > 0;
  const seconds = Math.round((performance.now() - startedAtMs) / 1000);
  console.log(
    `\n${isOk ? "ok" : "FAILED"} | ${sum.passed} passed | ${sum.failed} failed | ${sum.ignored} ignored (${seconds}s)`,
  );
  return isOk;
}
