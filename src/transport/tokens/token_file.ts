/**
 * The file of tokens, as text and as data. It holds only digests, so nobody can log in by reading it.
 *
 * Strict, like all our configuration: an unknown member may be meant to limit something.
 */

import * as z from "zod/mini";
import { TokenDigest } from "./token_digest.ts";
import { ID_RULE, isIdPattern, PATTERN_RULE } from "./id_pattern.ts";
import { TokenTable } from "./token_table.ts";

/** What a token allows: offering an executor, using one, or listing them. */
export const TOKEN_ROLES = ["executor", "client", "viewer"] as const;
export type TokenRole = (typeof TOKEN_ROLES)[number];

/** What is known about one token, without the token itself. */
export interface TokenEntry {
  readonly name: string;
  readonly digest: TokenDigest;
  readonly roles: readonly TokenRole[];
  /** Patterns for the ids of executors it is for. */
  readonly ids: readonly string[];
  readonly createdAt: Date;
  /** Null: until it is revoked. */
  readonly expiresAt: Date | null;
}

export class TokenFileError extends Error {
  override readonly name = "TokenFileError";
}

/** Names are used in logs and tables. */
const TOKEN_NAME = /^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$/;
export const TOKEN_NAME_RULE =
  'a name has 1 to 64 letters, digits, ".", "_", "@" or "-", and begins with a letter or digit';

export function isTokenName(text: string): boolean {
  return TOKEN_NAME.test(text);
}

const VERSION = 1;

const Time = z.iso.datetime();

const File = z.strictObject({
  version: z.literal(VERSION),
  tokens: z.array(z.strictObject({
    name: z.string().check(z.refine(isTokenName, TOKEN_NAME_RULE)),
    sha256: z.string().check(z.regex(/^[0-9a-f]{64}$/)),
    roles: z.array(z.enum(TOKEN_ROLES)).check(z.minLength(1)),
    ids: z.array(z.string().check(z.refine(isIdPattern, `${PATTERN_RULE}; ${ID_RULE}`))).check(z.minLength(1)),
    createdAt: Time,
    expiresAt: z.nullable(Time),
  })),
});

/** Throws a `TokenFileError` that says what is wrong and where. It quotes no digest. */
export function parseTokenFile(text: string): TokenTable {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    // The parser's message quotes the text.
    throw new TokenFileError("it is not JSON");
  }
  const { success, data, error } = File.safeParse(json);
  if (!success) {
    const [issue] = error.issues;
    throw new TokenFileError(`${issue!.path.join(".") || "the whole"}: ${issue!.message}`);
  }
  const entries = data.tokens.map((token): TokenEntry => ({
    name: token.name,
    digest: TokenDigest.fromHex(token.sha256),
    roles: token.roles,
    ids: token.ids,
    createdAt: new Date(token.createdAt),
    expiresAt: token.expiresAt === null ? null : new Date(token.expiresAt),
  }));
  const names = entries.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new TokenFileError(`two tokens have the name ${JSON.stringify(twice)}`);
  return new TokenTable(entries);
}

export function formatTokenFile(entries: readonly TokenEntry[]): string {
  const tokens = entries.map(({ name, digest, roles, ids, createdAt, expiresAt }) => ({
    name,
    sha256: digest.toHex(),
    roles,
    ids,
    createdAt: createdAt.toISOString(),
    expiresAt: expiresAt?.toISOString() ?? null,
  }));
  return `${JSON.stringify({ version: VERSION, tokens }, null, 2)}\n`;
}
