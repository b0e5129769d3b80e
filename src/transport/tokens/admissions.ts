/**
 * Knows which clients were let in by which token. When a token is revoked, changed or expires, its connections end.
 *
 * Owns the table in force. The receivers of the signals close the connections.
 */

import type { Clock } from "../../clock.ts";
import { TokenDigest } from "./token_digest.ts";
import type { TokenEntry } from "./token_file.ts";
import { isExpired, isFor, type TokenTable, type Wish } from "./token_table.ts";

/** A client that was let in. `release` it when the client has gone. */
export interface Admission {
  /** The token's name, for the log. */
  readonly holder: string;
  /** Aborted when the token does not allow this any more. The reason is an `Error` that may be shown to the peer. */
  readonly revoked: AbortSignal;
  release(): void;
}

export type Judgement =
  | { readonly type: "granted"; readonly entry: TokenEntry }
  /** `unknown` and `expired`: the token is not valid. `foreign`: it is valid, but not for this. */
  | { readonly type: "unknown" | "expired" | "foreign"; readonly reason: string };

export interface AdmissionsOptions {
  readonly table: TokenTable;
  readonly clock: Clock;
  /** Milliseconds since the epoch, against which tokens expire. */
  readonly nowMs?: () => number;
}

interface Holding {
  readonly digest: TokenDigest;
  readonly wish: Wish;
  readonly controller: AbortController;
}

/** The longest time between two checks for expired tokens: the wall clock may be set. */
const MAX_LOOK_MS = 60_000;

export class Admissions implements Disposable {
  readonly #clock: Clock;
  readonly #nowMs: () => number;
  readonly #holdings = new Set<Holding>();
  #table: TokenTable;
  #cancelLook: (() => void) | null = null;

  constructor({ table, clock, nowMs = Date.now }: AdmissionsOptions) {
    this.#table = table;
    this.#clock = clock;
    this.#nowMs = nowMs;
  }

  /** The table in force. */
  get table(): TokenTable {
    return this.#table;
  }

  /** Whether a token allows this. Lets nobody in. */
  async judge(token: string, wish: Wish): Promise<Judgement> {
    const entry = await this.#table.find(token);
    if (entry === null) return { type: "unknown", reason: "invalid token" };
    return this.#judgeEntry(entry, wish);
  }

  /** Whether the holder of a token that was checked before may do this now. */
  holds(entry: TokenEntry, wish: Wish): boolean {
    const present = this.#table.findDigest(entry.digest);
    return present !== null && this.#judgeEntry(present, wish).type === "granted";
  }

  /** Lets in a client that has shown the token of this entry. */
  admit({ name, digest }: TokenEntry, wish: Wish): Admission {
    const holding: Holding = { digest, wish, controller: new AbortController() };
    this.#holdings.add(holding);
    this.#lookLater();
    return {
      holder: name,
      revoked: holding.controller.signal,
      release: () => {
        this.#holdings.delete(holding);
        if (this.#holdings.size === 0) this.#stopLooking();
      },
    };
  }

  /** Replaces the table, also for clients that are in. Returns how many of them were put out. */
  replace(table: TokenTable): number {
    this.#table = table;
    return this.recheck();
  }

  /** Aborts the signals of clients whose token is not valid any more. Returns how many there were. */
  recheck(): number {
    let dropped = 0;
    for (const holding of this.#holdings) {
      const entry = this.#table.findDigest(holding.digest);
      const judgement = entry === null
        ? { type: "unknown" as const, reason: "the token was revoked" }
        : this.#judgeEntry(entry, holding.wish);
      if (judgement.type === "granted") continue;
      this.#holdings.delete(holding);
      holding.controller.abort(new Error(judgement.reason));
      dropped++;
    }
    this.#stopLooking();
    if (this.#holdings.size > 0) this.#lookLater();
    return dropped;
  }

  [Symbol.dispose](): void {
    this.#stopLooking();
    this.#holdings.clear();
  }

  #judgeEntry(entry: TokenEntry, wish: Wish): Judgement {
    if (isExpired(entry, this.#nowMs())) return { type: "expired", reason: "the token has expired" };
    if (isFor(entry, wish)) return { type: "granted", entry };
    const what = wish.id === null ? `the role ${wish.role}` : `the role ${wish.role} at ${JSON.stringify(wish.id)}`;
    return { type: "foreign", reason: `the token is not for ${what}` };
  }

  #lookLater(): void {
    this.#cancelLook ??= this.#clock.setTimer(this.#untilNextExpiryMs(), () => {
      this.#cancelLook = null;
      this.recheck();
    });
  }

  #stopLooking(): void {
    this.#cancelLook?.();
    this.#cancelLook = null;
  }

  #untilNextExpiryMs(): number {
    const now = this.#nowMs();
    let untilMs = MAX_LOOK_MS;
    for (const { expiresAt } of this.#table.entries) {
      const leftMs = expiresAt === null ? Infinity : expiresAt.getTime() - now;
      if (leftMs > 0 && leftMs < untilMs) untilMs = leftMs;
    }
    return untilMs;
  }
}
