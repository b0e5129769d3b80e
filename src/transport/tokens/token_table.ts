/** All tokens, and what each allows. Immutable: when the file is read again, a new table is made. */

import { TokenDigest } from "./token_digest.ts";
import { matchesPattern } from "./id_pattern.ts";
import type { TokenEntry, TokenRole } from "./token_file.ts";

/** What a client wants to do. Without an id, it is not about a certain executor. */
export interface Wish {
  readonly role: TokenRole;
  readonly id: string | null;
}

export class TokenTable {
  readonly entries: readonly TokenEntry[];

  constructor(entries: readonly TokenEntry[]) {
    this.entries = entries;
  }

  /** The entry of a token. Compares with all of them, so that the time does not reveal which one it was. */
  async find(token: string): Promise<TokenEntry | null> {
    return this.findDigest(await TokenDigest.ofToken(token));
  }

  findDigest(digest: TokenDigest): TokenEntry | null {
    let found: TokenEntry | null = null;
    for (const entry of this.entries) {
      if (entry.digest.equals(digest)) found = entry;
    }
    return found;
  }
}

export function isExpired({ expiresAt }: TokenEntry, nowMs: number): boolean {
  return expiresAt !== null && expiresAt.getTime() <= nowMs;
}

/** Whether the entry allows this, apart from its expiry. */
export function isFor({ roles, ids }: TokenEntry, { role, id }: Wish): boolean {
  return roles.includes(role) && (id === null || ids.some((pattern) => matchesPattern(pattern, id)));
}
