/** The `conform` command: checks whether a server keeps the promises of docs/protocol.md. */

import { type CheckResult, conform as runChecks, type ConformReport } from "../../conform/run.ts";
import { messageOf } from "../../errors.ts";
import { quoted, refusal, refuseSurplus, usageError } from "../cli_error.ts";
import { helpAction, jsonSwitch } from "../common_flags.ts";
import { type FlagTable, parseFlags } from "../flags.ts";
import { helpText } from "../help.ts";
import { print } from "../print.ts";

/** At least one promise was not kept. */
const EXIT_BROKEN = 1;

/** How long an immediate answer may take on a busy machine. */
const PATIENCE_MS = 15_000;

export const CONFORM_FLAGS = {
  "token-file": {
    section: "Flags",
    kind: "text",
    placeholder: "PATH",
    default: null,
    hasVariable: false,
    help: "File with the token, if the URL holds none.",
  },
  json: jsonSwitch("Flags"),
  help: helpAction("Flags"),
} as const satisfies FlagTable;

const CONFORM_INTRODUCTION = `Usage: exec-server conform URL [flags]

Checks whether a server keeps the promises of docs/protocol.md: this one, or
any other that speaks the protocol. URL is the line that the server printed:
ws://IP:PORT or wss://HOST:PORT, with its token if it has one. It starts
processes and writes files in a directory of its own on the server's machine,
and removes them again. Extensions of the base protocol are checked if the
server shows the flag for them. Exit status: 0 when all promises that were
checked were kept, 1 when one was not, 2 when the command line is not
understood.`;

/** Resolves with the exit code. */
export async function conform(args: readonly string[]): Promise<number> {
  const parsed = parseFlags(CONFORM_FLAGS, args, Deno.env.toObject());
  if (parsed.type === "action") {
    await print(helpText(CONFORM_FLAGS, CONFORM_INTRODUCTION));
    return 0;
  }
  const { values, positionals } = parsed;
  const [url, surplus] = positionals;
  if (url === undefined) throw usageError("the URL of the server is missing: it is the line that the server printed");
  refuseSurplus(surplus, "exec-server conform --help");
  if (!/^wss?:\/\//.test(url)) throw usageError(`cannot check ${quoted(url)}: the URL begins with ws:// or wss://`);
  const file = values["token-file"];
  const token = file === null ? null : await tokenIn(file);

  const say = async (text: string) => void (values.json || await print(text));
  let area = "";
  const report = await runChecks({ url, token, patienceMs: PATIENCE_MS }, (result) => {
    if (result.area !== area) say(`\n${area = result.area}\n`);
    say(resultLine(result));
  }).catch((error: Error) => {
    throw refusal(`cannot check the server: ${error.message}`, error);
  });
  await (values.json ? print(`${JSON.stringify(report, null, 2)}\n`) : print(verdict(report)));
  return report.counts.failed === 0 && report.leftBehind === null ? 0 : EXIT_BROKEN;
}

async function tokenIn(file: string): Promise<string> {
  try {
    const token = (await Deno.readTextFile(file)).trim();
    if (token !== "") return token;
  } catch (error) {
    throw refusal(`cannot read the token file: ${messageOf(error)}`, error);
  }
  throw refusal(`the token file ${quoted(file)} is empty`);
}

const WORDS: Readonly<Record<CheckResult["outcome"], string>> = { passed: "ok", failed: "NO", skipped: "--" };

function resultLine(result: CheckResult): string {
  const name = result.id.slice(result.area.length + 1);
  const reason = result.outcome === "passed" ? "" : `\n        ${result.reason}`;
  return `  ${WORDS[result.outcome]}  ${name}: ${result.promise}${reason}\n`;
}

function verdict({ server, counts, notTested, leftBehind }: ConformReport): string {
  const { passed, failed, skipped } = counts;
  return [
    "",
    `${passed} promises kept, ${failed} broken, ${skipped} not checked${server === null ? "" : ` (server ${server})`}.`,
    ...(leftBehind === null ? [] : [`Could not remove everything: ${leftBehind}`]),
    "Not checked by conform:",
    ...notTested.map((text) => `  - ${text}`),
    "",
  ].join("\n");
}
