/** The `doctor` command: what this machine can confine with, and what to change. */

import { quoted, usageError } from "./cli_error.ts";
import { DOCTOR_FLAGS, DOCTOR_INTRODUCTION } from "./doctor_flags.ts";
import { doctorReport } from "./doctor_report.ts";
import { doctorText } from "./doctor_text.ts";
import { parseFlags } from "./flags.ts";
import { helpText } from "./help.ts";

/** At least one of the usual policies is refused. */
const EXIT_REFUSING = 1;

/** Resolves with the exit code. */
export async function doctor(args: readonly string[]): Promise<number> {
  const parsed = parseFlags(DOCTOR_FLAGS, args, Deno.env.toObject());
  if (parsed.type === "action") {
    await print(helpText(DOCTOR_FLAGS, DOCTOR_INTRODUCTION));
    return 0;
  }
  const { values, positionals } = parsed;
  if (positionals[0] !== undefined) throw usageError(`unexpected argument ${quoted(positionals[0])}: see --help`);
  const report = await doctorReport(values.sandbox);
  await print(values.json ? `${JSON.stringify(report, null, 2)}\n` : doctorText(report));
  return report.ok ? 0 : EXIT_REFUSING;
}

async function print(text: string): Promise<void> {
  const bytes = new TextEncoder().encode(text);
  for (let written = 0; written < bytes.length;) written += await Deno.stdout.write(bytes.subarray(written));
}
