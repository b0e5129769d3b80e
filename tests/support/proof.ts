/**
 * A long proof: something tried so many times that one success means little. The number of tries is scaled by
 * `PROVE_SCALE` (1 is all of it, `.ci/run` and a plain `deno test` take a tenth), the random choices come from a seed
 * that is printed and can be set by `PROVE_SEED`. `deno task prove` runs all proofs at full scale and writes what they
 * report to `docs/proof.md`.
 */

import { Random } from "./random.ts";

const DEFAULT_SCALE = 0.1;

/** What a proof says of itself; one line of JSON in the file that `PROVE_REPORT` names. */
export interface ProofReport {
  readonly name: string;
  readonly tries: number;
  readonly unit: string;
  readonly seed: number;
  readonly seconds: number;
  /** "held", or what broke. */
  readonly result: string;
  /** Figures worth keeping, in words: `longest outage 1.2 s`. */
  readonly remarks: string;
}

export interface ProofRun {
  readonly tries: number;
  readonly random: Random;
  readonly seed: number;
  /** Adds a figure to the report. */
  remark(text: string): void;
}

export interface ProofOptions {
  /** What holds, as a claim. */
  readonly name: string;
  /** How many tries are all of it. */
  readonly tries: number;
  /** What one try is: `cuts`, `files`, `races`. */
  readonly unit: string;
  /** Why it cannot run here, if it cannot: the test is skipped under a name that says so. */
  readonly missing?: string | null;
}

/** Declares the proof as a test. */
export function proof(options: ProofOptions, run: (run: ProofRun) => Promise<void>): void {
  const { name, unit, missing = null } = options;
  if (missing !== null) {
    Deno.test({ name: `${name} (SKIPPED: ${missing})`, ignore: true, fn: () => {} });
    return;
  }
  Deno.test(name, async () => {
    const scale = Number(Deno.env.get("PROVE_SCALE") ?? DEFAULT_SCALE);
    const seed = Number(Deno.env.get("PROVE_SEED") ?? crypto.getRandomValues(new Uint32Array(1))[0]!);
    const tries = Math.max(1, Math.round(options.tries * scale));
    console.log(`${name}: ${tries} ${unit}, PROVE_SEED=${seed}`);
    const remarks: string[] = [];
    const begun = performance.now();
    let result = "held";
    try {
      await run({ tries, seed, random: new Random(seed), remark: (text) => remarks.push(text) });
    } catch (error) {
      result = `BROKEN: ${error instanceof Error ? error.message : error}`;
      throw error;
    } finally {
      const seconds = Math.round((performance.now() - begun) / 100) / 10;
      report({ name, tries, unit, seed, seconds, result, remarks: remarks.join("; ") });
    }
  });
}

function report(line: ProofReport): void {
  const file = Deno.env.get("PROVE_REPORT");
  if (file !== undefined) Deno.writeTextFileSync(file, JSON.stringify(line) + "\n", { append: true, create: true });
}
