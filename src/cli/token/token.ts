/** The `token` command: creates, lists and revokes the tokens of a file. */

import { TokenDigest } from "../../transport/tokens/token_digest.ts";
import { ID_RULE, isIdPattern, PATTERN_RULE } from "../../transport/tokens/id_pattern.ts";
import { createToken } from "../../transport/tokens/new_token.ts";
import {
  isTokenName,
  TOKEN_NAME_RULE,
  TOKEN_ROLES,
  type TokenEntry,
  type TokenRole,
} from "../../transport/tokens/token_file.ts";
import { quoted, refusal, refuseSurplus, usageError } from "../cli_error.ts";
import { type FlagTable, parseFlags } from "../flags.ts";
import { helpText } from "../help.ts";
import { print } from "../print.ts";
import { textTable } from "../text_table.ts";
import { expiryOf } from "./expiry.ts";
import {
  TOKEN_CREATE_FLAGS,
  TOKEN_FLAGS,
  TOKEN_INTRODUCTION,
  TOKEN_LIST_FLAGS,
  TOKEN_REVOKE_FLAGS,
} from "./token_flags.ts";
import { changeTokenFile, readTokenFile } from "./token_store.ts";

/** Printed after every change, since it is easily forgotten. */
const SIGHUP_HINT = "servers that run read the file again when they get SIGHUP";

/** Resolves with the exit code. */
export async function token(args: readonly string[]): Promise<number> {
  const [verb, ...rest] = args;
  switch (verb) {
    case "create":
      return await create(rest);
    case "list":
      return await list(rest);
    case "revoke":
      return await revoke(rest);
    case "-h":
    case "--help":
      return await showHelp();
    default:
      throw usageError(
        `${verb === undefined ? "the action is missing" : `unknown word ${quoted(verb)}`}: ` +
          `write exec-server token create, list or revoke`,
      );
  }
}

async function showHelp(): Promise<number> {
  await print(helpText(TOKEN_FLAGS, TOKEN_INTRODUCTION));
  return 0;
}

async function create(args: readonly string[]): Promise<number> {
  const parsed = parse(TOKEN_CREATE_FLAGS, args);
  if (parsed.type === "action") return await showHelp();
  const { values, positionals } = parsed;
  refuseMore(positionals);
  const path = required(values.tokens, "--tokens PATH");
  const name = required(values.name, "--name NAME");
  if (!isTokenName(name)) throw usageError(`--name ${quoted(name)}: ${TOKEN_NAME_RULE}`);
  const roles = listed(required(values.roles, "--roles ROLES"), "--roles").map(roleOf);
  const ids = listed(required(values.ids, '--ids IDS, such as --ids "*" for all'), "--ids");
  const wrong = ids.find((id) => !isIdPattern(id));
  if (wrong !== undefined) throw usageError(`--ids ${quoted(wrong)}: ${PATTERN_RULE}; ${ID_RULE}`);
  const createdAt = new Date();
  const expiresAt = values.expires === null ? null : expiryOf(values.expires, createdAt);

  const text = createToken();
  const entry: TokenEntry = { name, digest: await TokenDigest.ofToken(text), roles, ids, createdAt, expiresAt };
  await changeTokenFile(path, (entries) => {
    if (entries.some((other) => other.name === name)) {
      throw refusal(`there is a token ${quoted(name)} already: revoke it first, or choose another name`);
    }
    return [...entries, entry];
  });
  console.error(`created token ${quoted(name)} (${SIGHUP_HINT}); this is the only time it is shown:`);
  await print(`${text}\n`);
  return 0;
}

async function list(args: readonly string[]): Promise<number> {
  const parsed = parse(TOKEN_LIST_FLAGS, args);
  if (parsed.type === "action") return await showHelp();
  const { values, positionals } = parsed;
  refuseMore(positionals);
  const entries = await readTokenFile(required(values.tokens, "--tokens PATH"));
  const nowMs = Date.now();
  const rows = entries.map(({ name, roles, ids, createdAt, expiresAt }) => ({
    name,
    roles,
    ids,
    createdAt: createdAt.toISOString(),
    expiresAt: expiresAt?.toISOString() ?? null,
    expired: expiresAt !== null && expiresAt.getTime() <= nowMs,
  }));
  await print(values.json ? `${JSON.stringify(rows, null, 2)}\n` : asTable(rows));
  return 0;
}

function asTable(
  rows: readonly {
    name: string;
    roles: readonly string[];
    ids: readonly string[];
    expiresAt: string | null;
    expired: boolean;
  }[],
): string {
  const day = (time: string | null) => time?.slice(0, 16).replace("T", " ") ?? "never";
  return textTable([
    ["NAME", "ROLES", "IDS", "EXPIRES"],
    ...rows.map(({ name, roles, ids, expiresAt, expired }) => [
      name,
      roles.join(","),
      ids.join(","),
      expired ? `${day(expiresAt)} (expired)` : day(expiresAt),
    ]),
  ]);
}

async function revoke(args: readonly string[]): Promise<number> {
  const parsed = parse(TOKEN_REVOKE_FLAGS, args);
  if (parsed.type === "action") return await showHelp();
  const { values, positionals: [name, ...more] } = parsed;
  refuseMore(more);
  const path = required(values.tokens, "--tokens PATH");
  if (name === undefined) {
    throw usageError("the name of the token is missing: exec-server token revoke --tokens PATH NAME");
  }
  await changeTokenFile(path, (entries) => {
    const others = entries.filter((entry) => entry.name !== name);
    if (others.length === entries.length) throw refusal(`there is no token ${quoted(name)} in ${quoted(path)}`);
    return others;
  });
  console.error(`revoked token ${quoted(name)}: ${SIGHUP_HINT}, and drop its connections then`);
  return 0;
}

function parse<const Table extends FlagTable>(table: Table, args: readonly string[]) {
  return parseFlags(table, args, Deno.env.toObject());
}

function refuseMore(positionals: readonly string[]): void {
  refuseSurplus(positionals[0]);
}

function required(value: string | null, usage: string): string {
  if (value === null) throw usageError(`${usage} is missing`);
  return value;
}

function listed(text: string, flag: string): string[] {
  const words = text.split(",").map((word) => word.trim());
  if (words.includes("")) throw usageError(`${flag} ${quoted(text)}: an entry is empty`);
  return [...new Set(words)];
}

function roleOf(word: string): TokenRole {
  const role = TOKEN_ROLES.find((name) => name === word);
  if (role === undefined) throw usageError(`--roles ${quoted(word)}: the roles are ${TOKEN_ROLES.join(", ")}`);
  return role;
}
