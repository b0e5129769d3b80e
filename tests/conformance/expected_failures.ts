/**
 * Runs the conformance suite on one way to start a server, and compares what fails with a list, exactly: a case that
 * fails and is not listed is a fault, and so is one that is listed and passes.
 */

/** Descriptors that whoever started us left open would be inherited by servers, and by what those start. */
const CLOSE_OTHERS =
  'for fd in /proc/self/fd/*; do fd=${fd##*/}; [ "$fd" -gt 2 ] && eval "exec $fd>&-"; done; exec "$@"';

interface CaseResult {
  readonly area: string;
  readonly name: string;
  readonly status: "pass" | "fail" | "skip";
  readonly why?: string;
}

export interface ExpectedFailures {
  /** The suite's `run.ts`. */
  readonly suite: string;
  /** Further words for the suite. */
  readonly options: readonly string[];
  /** Words that start a server, in the suite's terms. */
  readonly server: readonly string[];
  /** Cases that fail, as `area/name`. */
  readonly listed: ReadonlySet<string>;
}

/** Prints what differs and the counts. Resolves with the exit code. */
export async function compareFailures({ suite, options, server, listed }: ExpectedFailures): Promise<number> {
  const results = await runSuite(suite, [...options, "--server", server.join(" ")]);
  const failed = results.filter(({ status }) => status === "fail");
  const names = new Set(results.map(nameOf));

  const unexpected = failed.filter((result) => !listed.has(nameOf(result)));
  const failedNames = new Set(failed.map(nameOf));
  const outdated = [...listed].filter((name) => !failedNames.has(name));
  for (const result of unexpected) console.log(`FAIL ${nameOf(result)}\n      ${result.why}`);
  for (const name of outdated) {
    console.log(`LISTED, BUT ${names.has(name) ? "it passes" : "there is no such case"}: ${name}`);
  }
  const passed = results.filter(({ status }) => status === "pass").length;
  console.log(`${failed.length - unexpected.length} cases fail that are listed to, ${passed} pass`);
  const faults = unexpected.length + outdated.length + (passed === 0 ? 1 : 0);
  console.log(`${passed} passed, ${faults} failed`);
  return faults === 0 ? 0 : 1;
}

async function runSuite(suite: string, options: readonly string[]): Promise<CaseResult[]> {
  const command = [Deno.execPath(), "run", "-A", suite, "--json", ...options];
  const { stdout } = await new Deno.Command("bash", {
    args: ["-c", CLOSE_OTHERS, "bash", ...command],
    stdin: "null",
    stderr: "inherit",
  }).output();
  const lines = new TextDecoder().decode(stdout).split("\n").filter((line) => line.startsWith('{"area"'));
  return lines.map((line) => JSON.parse(line));
}

function nameOf({ area, name }: CaseResult): string {
  return `${area}/${name}`;
}

/** The suite's path and the words for it, from the command line. */
export function suiteWords(): { suite: string; options: string[] } {
  const [suite, ...options] = Deno.args;
  if (suite !== undefined) return { suite, options };
  console.error("the path of the suite is missing");
  Deno.exit(2);
}
