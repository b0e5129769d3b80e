/** The `executors` command: lists the executors of a rendezvous that the user can use. */

import { messageOf } from "../../errors.ts";
import { printable } from "../../printable.ts";
import { askForExecutors } from "../../remote/dial/harness_network.ts";
import type { ExecutorListing } from "../../remote/rendezvous/executor.ts";
import { CliError, quoted, refusal, refuseSurplus, usageError } from "../cli_error.ts";
import { type Environment, parseFlags } from "../flags.ts";
import { helpText } from "../help.ts";
import { print } from "../print.ts";
import { textTable } from "../text_table.ts";
import { EXECUTORS_FLAGS, EXECUTORS_INTRODUCTION } from "./executors_flags.ts";

/** A list comes at once, so the user need not wait long for a rendezvous that does not answer. */
const TIMEOUT_MS = 10_000;

/** Resolves with the exit code. */
export async function executors(args: readonly string[]): Promise<number> {
  const env = Deno.env.toObject();
  const parsed = parseFlags(EXECUTORS_FLAGS, args, env);
  if (parsed.type === "action") {
    await print(helpText(EXECUTORS_FLAGS, EXECUTORS_INTRODUCTION));
    return 0;
  }
  const { values, positionals } = parsed;
  refuseSurplus(positionals[0]);
  if (values.url === null) throw usageError("--url URL is missing: the URL of the rendezvous");
  const url = listUrl(values.url);
  const token = await readToken(values["token-file"], env);
  const { executors } = await fetchList(url, token, env);
  await print(values.json ? `${JSON.stringify(executors, null, 2)}\n` : asTable(executors, Date.now()));
  return 0;
}

const SCHEMES: Readonly<Record<string, string>> = {
  "http:": "http:",
  "ws:": "http:",
  "https:": "https:",
  "wss:": "https:",
};

function listUrl(text: string): string {
  const url = URL.parse(text);
  const scheme = SCHEMES[url?.protocol ?? ""];
  if (url === null || scheme === undefined) throw refusal(`--url ${quoted(text)} is not accepted: write https://HOST`);
  return `${scheme}//${url.host}${url.pathname.replace(/\/+$/, "")}/executors`;
}

async function readToken(file: string | null, env: Environment): Promise<string> {
  let token = env["EXEC_SERVER_TOKEN"] ?? "";
  if (file !== null) {
    token = await Deno.readTextFile(file).catch((error) => {
      throw refusal(
        `cannot read --token-file ${quoted(file)}: ${messageOf(error)}`,
        error,
      );
    });
  }
  if (token.trim() === "") throw usageError("the token is missing: use --token-file or the variable EXEC_SERVER_TOKEN");
  return token.trim();
}

async function fetchList(url: string, token: string, env: Environment): Promise<{ executors: ExecutorListing[] }> {
  try {
    const { status, text } = await askForExecutors(new URL(url), { token, timeoutMs: TIMEOUT_MS, env });
    if (status === 200) return JSON.parse(text);
    throw refusal(`the rendezvous refuses (${status}): ${complaintIn(text)}`);
  } catch (error) {
    if (error instanceof CliError) throw error;
    const reason = error instanceof SyntaxError ? "the answer is not JSON" : messageOf(error);
    throw refusal(`cannot ask ${quoted(url)}: ${printable(reason)}`, error);
  }
}

/** The text of an error for people. The answer may come from another program. */
function complaintIn(text: string): string {
  try {
    return quoted(String(JSON.parse(text).error.message));
  } catch {
    return "it does not say why";
  }
}

function asTable(executors: readonly ExecutorListing[], nowMs: number): string {
  return textTable([
    ["ID", "NAME", "VERSION", "KIND", "CLIENTS", "CONNECTED", "LAST SEEN"],
    ...executors.map(({ id, name, version, kind, clients, connectedSince, lastSeen }) => [
      id,
      printableName(name),
      printableName(version),
      kind,
      String(clients),
      connectedSince === null ? "no" : `for ${since(connectedSince, nowMs)}`,
      lastSeen === null ? "-" : `${since(lastSeen, nowMs)} ago`,
    ]),
  ]);
}

/** Executors choose their names. */
function printableName(name: string | null): string {
  if (name === null) return "-";
  return /^[\x20-\x7e]+$/.test(name) ? name : quoted(name);
}

function since(time: string, nowMs: number): string {
  const seconds = Math.max(0, Math.round((nowMs - Date.parse(time)) / 1000));
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)} min`;
  return seconds < 172_800 ? `${Math.floor(seconds / 3600)} h` : `${Math.floor(seconds / 86_400)} d`;
}
