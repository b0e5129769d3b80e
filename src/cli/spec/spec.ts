/** The `spec` command: prints the protocol as an OpenRPC document, or as the reference part of `docs/protocol.md`. */

import { refuseSurplus } from "../cli_error.ts";
import { helpAction } from "../common_flags.ts";
import { type FlagTable, parseFlags } from "../flags.ts";
import { helpText } from "../help.ts";
import { print } from "../print.ts";

export const SPEC_FLAGS = {
  format: {
    section: "Flags",
    kind: "choice",
    choices: ["openrpc", "markdown"],
    default: "openrpc",
    hasVariable: false,
    help: "openrpc: a JSON document for tools. markdown: the reference for people.",
  },
  help: helpAction("Flags"),
} as const satisfies FlagTable;

const SPEC_INTRODUCTION = `Usage: exec-server spec [flags]

Prints the protocol that this server speaks: every request and notification
with its parameters, result, errors and an example, as an OpenRPC 1.3 document
with JSON Schema draft 07. A running server answers the same to rpc.discover.`;

/** Resolves with the exit code. */
export async function spec(args: readonly string[]): Promise<number> {
  const parsed = parseFlags(SPEC_FLAGS, args, Deno.env.toObject());
  if (parsed.type === "action") {
    await print(helpText(SPEC_FLAGS, SPEC_INTRODUCTION));
    return 0;
  }
  const { values, positionals } = parsed;
  refuseSurplus(positionals[0]);
  const document = await (await import("../../protocol/spec.ts")).specDocument();
  if (values.format === "markdown") {
    await print((await import("../../protocol/spec/markdown.ts")).referenceMarkdown(document));
  } else {
    await print(`${JSON.stringify(document, null, 2)}\n`);
  }
  return 0;
}
