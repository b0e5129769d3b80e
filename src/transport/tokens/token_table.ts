/** The tokens there are, and what each is good for. Immutable: a file that was read again makes another table. */

import { TokenDigest } from "./token_digest.ts";
import { matchesPattern } from "./id_pattern.ts";
import type { TokenEntry, TokenRole } from "./token_file.ts";

/** What somebody wants to do. Without an id: something that is about no executor in particular. */
export interface Wish {
  readonly role: TokenRole;
  readonly id: string | null;
}

export class TokenTable {
  readonly entries: readonly TokenEntry[];

  constructor(entries: readonly TokenEntry[]) {
    this.entries = entries;
  }

  /** The entry of a token. Looks at all of them, so that the time tells nothing about which one it was. */
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

/** Whether the entry is for this, apart from its expiry. */
export function isFor({ roles, ids }: TokenEntry, { role, id }: Wish): boolean {
  return roles.includes(role) && (id === null || ids.some((pattern) => matchesPattern(pattern, id)));
}
