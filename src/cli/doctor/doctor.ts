/** The `doctor` command: what this machine can confine with, who could connect, and what to change. */

import { refuseSurplus } from "../cli_error.ts";
import { doorReport } from "./doctor_door.ts";
import { DOCTOR_FLAGS, DOCTOR_INTRODUCTION } from "./doctor_flags.ts";
import { identityReport } from "./doctor_identity.ts";
import { doctorReport } from "./doctor_report.ts";
import { doctorText } from "./doctor_text.ts";
import { parseFlags } from "../flags.ts";
import { helpText } from "../help.ts";
import { print } from "../print.ts";

/** At least one of the usual policies is refused, or the server would not start. */
const EXIT_REFUSING = 1;

/** Whether the words ask about a server and not about this machine. */
function asksForPlace(args: readonly string[]): boolean {
  return args.some((word) => /^--url(?:=|$)/.test(word) || /^@[^/]/.test(word));
}

/** Resolves with the exit code. */
export async function doctor(args: readonly string[]): Promise<number> {
  if (asksForPlace(args)) return await (await import("../client/reach.ts")).reach(args);
  const env = Deno.env.toObject();
  const parsed = parseFlags(DOCTOR_FLAGS, args, env);
  if (parsed.type === "action") {
    await print(helpText(DOCTOR_FLAGS, DOCTOR_INTRODUCTION));
    return 0;
  }
  const { values, givenAs, positionals } = parsed;
  refuseSurplus(positionals[0]);
  const door = await doorReport(values, givenAs, Deno.readTextFile);
  const identity = await identityReport(values["identity-file"], env);
  const report = await doctorReport(values.sandbox, door, identity);
  await print(values.json ? `${JSON.stringify(report, null, 2)}\n` : doctorText(report));
  return report.ok ? 0 : EXIT_REFUSING;
}
