/**
 * Random rule files and commands, given to `codex execpolicy check` 0.166 and to ours: the same JSON, and the same files
 * refused. Where they differ there has to be a reason in the table below.
 */

import assert from "node:assert/strict";
import { RuleFileError } from "../../src/rules/language/failure.ts";
import { loadRules } from "../../src/rules/load.ts";
import { checkReport } from "../../src/rules/policy/check_report.ts";
import { findCodex } from "../support/codex_program.ts";
import { proof } from "../support/proof.ts";
import { RuleFileGenerator } from "../support/rule_file_generator.ts";

interface Case {
  readonly texts: readonly string[];
  readonly command: readonly string[];
  readonly isResolving: boolean;
}

/** What was printed, or that the files were refused. */
type Answer = { readonly json: string } | { readonly refusal: string };

/** Known differences, by what they look like. */
const REASONS: readonly (readonly [reason: string, test: (theirs: Answer, ours: Answer) => boolean])[] = [
  [
    "bounded here: the reference has no bound on nesting, steps or the size of integers",
    (theirs, ours) => "json" in theirs && "refusal" in ours && /more than|stopped|overflow/.test(ours.refusal),
  ],
];

/** As many as the machine has processors, or the reference would only wait for itself. */
const IN_FLIGHT = 2;

const codex = await findCodex();

proof({
  name: "`execpolicy check` prints what codex 0.166 prints",
  tries: 2000,
  unit: "rule files with commands",
  missing: codex.missing,
}, async ({ tries, random, remark }) => {
  const directory = await Deno.realPath(await Deno.makeTempDir({ prefix: "exec-server-rules-" }));
  const generator = new RuleFileGenerator(random);
  const cases = Array.from({ length: tries }, (): Case => ({
    texts: Array.from({ length: random.chance(0.2) ? 2 : 1 }, () => {
      return random.chance(0.93) ? generator.file() : random.chance(0.7) ? generator.mangled() : generator.soup();
    }),
    command: generator.command(),
    isResolving: random.chance(0.5),
  }));
  const counts = { same: 0, refused: 0, matched: 0 };
  const differences = new Map<string, number>();
  try {
    await Deno.mkdir(`${directory}/home/.codex`, { recursive: true });
    let next = 0;
    const work = async () => {
      while (next < cases.length) {
        const index = next++;
        const checked = cases[index]!;
        const ours = ourAnswer(checked, directory);
        const theirs = await theirAnswer(checked, index, directory);
        if (isSame(theirs, ours)) {
          counts.same++;
          if ("refusal" in ours) counts.refused++;
          else if (ours.json.includes("decision")) counts.matched++;
          continue;
        }
        const reason = REASONS.find(([, test]) => test(theirs, ours))?.[0];
        assert.ok(reason !== undefined, `case ${index}: ${JSON.stringify({ ...checked, theirs, ours }, null, 1)}`);
        differences.set(reason, (differences.get(reason) ?? 0) + 1);
      }
    };
    await Promise.all(Array.from({ length: IN_FLIGHT }, work));
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
  remark(`${counts.same} the same: ${counts.matched} decided, ${counts.refused} refused by both`);
  for (const [reason, count] of differences) remark(`${count} differ: ${reason}`);
  assert.ok(counts.matched > tries / 10, "too few commands were decided: the proof shows little");
});

function isSame(theirs: Answer, ours: Answer): boolean {
  if ("refusal" in theirs) return "refusal" in ours;
  return "json" in ours && theirs.json === ours.json;
}

function ourAnswer({ texts, command, isResolving }: Case, directory: string): Answer {
  const place = { cwd: directory, home: `${directory}/home` };
  try {
    const rules = loadRules(texts.map((text, file) => ({ path: `FILE${file}`, text })), place);
    return { json: JSON.stringify(checkReport(rules.matches(command, isResolving ? place : null))) };
  } catch (error) {
    if (error instanceof RuleFileError) return { refusal: error.reason };
    throw error;
  }
}

async function theirAnswer({ texts, command, isResolving }: Case, index: number, directory: string): Promise<Answer> {
  const files = texts.map((_, file) => `${directory}/${index}-${file}.rules`);
  await Promise.all(files.map((path, file) => Deno.writeTextFile(path, texts[file]!)));
  const { code, stdout, stderr } = await new Deno.Command(codex.path!, {
    args: [
      ...["execpolicy", "check"],
      ...files.flatMap((path) => ["--rules", path]),
      ...(isResolving ? ["--resolve-host-executables"] : []),
      ...["--", ...command],
    ],
    cwd: directory,
    env: { HOME: `${directory}/home`, CODEX_HOME: `${directory}/home/.codex` },
    stdin: "null",
  }).output();
  await Promise.all(files.map((path) => Deno.remove(path)));
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes).trim();
  if (code === 0) return { json: text(stdout) };
  assert.equal(code, 1, text(stderr));
  return { refusal: text(stderr).slice(0, 600) };
}
