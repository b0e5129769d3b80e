/** The figures of a run, for whoever measures: printed only when `SOAK_FIGURES` is set. */

import type { Toll } from "../support/bystander.ts";

export function reportToll(what: string, { growthMb, longestWaitMs }: Toll): void {
  if (!Deno.env.get("SOAK_FIGURES")) return;
  console.log(`FIGURE ${what}: +${growthMb.toFixed(0)} MB, ${longestWaitMs.toFixed(0)} ms`);
}
