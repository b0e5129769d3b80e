/** The `version` command: prints the version of this program. */

import { VERSION } from "../../version.ts";
import { refuseSurplus } from "../cli_error.ts";
import { helpAction, jsonSwitch } from "../common_flags.ts";
import { type FlagTable, parseFlags } from "../flags.ts";
import { print } from "../print.ts";

export const VERSION_FLAGS = {
  json: jsonSwitch("Output"),
  help: helpAction("Other"),
} as const satisfies FlagTable;

const INTRODUCTION = `Usage: exec-server version [--json]

Prints the version of this program.

  exec-server version
  exec-server version --json | jq -r .version`;

/** Resolves with the exit code. */
export async function version(args: readonly string[]): Promise<number> {
  const parsed = parseFlags(VERSION_FLAGS, args, Deno.env.toObject());
  if (parsed.type === "action") {
    const { helpText } = await import("../help.ts");
    await print(helpText(VERSION_FLAGS, INTRODUCTION));
    return 0;
  }
  const { values, positionals } = parsed;
  refuseSurplus(positionals[0]);
  if (!values.json) {
    await print(`exec-server ${VERSION}\n`);
    return 0;
  }
  const { os, arch } = Deno.build;
  await print(`${JSON.stringify({ version: VERSION, deno: Deno.version.deno, os, arch }, null, 2)}\n`);
  return 0;
}
