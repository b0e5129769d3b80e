/**
 * `deno task prove [FILE…]`: runs the proofs at full scale, one file after another, and writes `docs/proof.md`. Rows of
 * proofs that were not run this time stay as they are. Exit status 1 when one broke.
 */

import type { ProofReport } from "../support/proof.ts";

const ROOT = new URL("../..", import.meta.url);
const PAGE = new URL("docs/proof.md", ROOT);
const HEAD = `# Proof

What was tried, how often, and what came of it. \`deno task prove\` writes this page; \`.ci/run\` does a tenth of it every
time. A try is repeated with \`PROVE_SEED=SEED PROVE_SCALE=1 deno test -A tests/prove/FILE\`.

`;
const COLUMNS = ["file", "claim", "tried", "commit", "seed", "took", "result"];

const wanted = Deno.args.length > 0
  ? Deno.args
  : [...Deno.readDirSync(new URL(".", import.meta.url))].map(({ name }) => name).filter((name) => name !== "run.ts");
const commit = await outputOf("git", ["rev-parse", "--short", "HEAD"]);
const rows = new Map(knownRows().map((row) => [`${row[0]}|${row[1]}`, row]));
let isBroken = false;
for (const name of wanted.map((path) => path.split("/").at(-1)!).sort()) {
  const reportFile = await Deno.makeTempFile();
  const { success } = await new Deno.Command(Deno.execPath(), {
    args: ["test", "--allow-all", new URL(name, import.meta.url).pathname],
    env: { PROVE_SCALE: Deno.env.get("PROVE_SCALE") ?? "1", PROVE_REPORT: reportFile },
    cwd: ROOT.pathname,
  }).spawn().status;
  isBroken ||= !success;
  for (const line of (await Deno.readTextFile(reportFile)).split("\n").filter((line) => line !== "")) {
    const proof = JSON.parse(line) as ProofReport;
    const result = proof.remarks === "" ? proof.result : `${proof.result}; ${proof.remarks}`;
    rows.set(`${name}|${proof.name}`, [
      name,
      proof.name,
      `${proof.tries} ${proof.unit}`,
      commit,
      String(proof.seed),
      `${proof.seconds} s`,
      result.replaceAll("|", "/").replaceAll(/\s+/g, " "),
    ]);
  }
  await Deno.remove(reportFile);
  await writePage();
}
Deno.exit(isBroken ? 1 : 0);

async function writePage(): Promise<void> {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |\n`;
  const sorted = [...rows.values()].sort((a, b) => `${a[0]} ${a[1]}` < `${b[0]} ${b[1]}` ? -1 : 1);
  await Deno.writeTextFile(PAGE, HEAD + line(COLUMNS) + line(COLUMNS.map(() => "---")) + sorted.map(line).join(""));
  await outputOf(Deno.execPath(), ["fmt", "--quiet", PAGE.pathname]);
}

/** The rows of the page as it is. */
function knownRows(): string[][] {
  try {
    const lines = Deno.readTextFileSync(PAGE).split("\n").filter((line) => line.startsWith("|")).slice(2);
    return lines.map((line) => line.split("|").slice(1, -1).map((cell) => cell.trim()));
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return [];
    throw error;
  }
}

async function outputOf(program: string, args: string[]): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(program, { args, cwd: ROOT.pathname }).output();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
  return new TextDecoder().decode(stdout).trim();
}
