/**
 * The random token that a server prints as part of its URL. Everyone who has seen that line can connect.
 *
 * It lives as long as the server. The text is held in a `#private` field. Only `addTo` reveals it, and its result goes
 * to standard output and never to the log.
 */

import { TokenDigest } from "./token_digest.ts";

/** 192 bits, which is 32 characters of URL-safe base64 without padding. */
const TOKEN_BYTES = 24;

const PARAMETER = "token";

/** Bodies of 401. The texts are ours, because the reference has no such tokens. */
export const URL_TOKEN_REFUSAL = {
  missing: "missing token: connect to the whole URL that the server has printed",
  wrong: "invalid token: the server makes a new one at every start",
} as const;

export class UrlToken {
  readonly #text: string;
  /** Made at its first use, so that the start of the server does not wait for it. */
  #digest: Promise<TokenDigest> | null = null;

  private constructor(text: string) {
    this.#text = text;
  }

  /** A new random token. */
  static create(): UrlToken {
    return new UrlToken(crypto.getRandomValues(new Uint8Array(TOKEN_BYTES)).toBase64({ alphabet: "base64url" }));
  }

  /** The URL with the token in it. `url` has no path and no query. */
  addTo(url: string): string {
    return `${url}/?${PARAMETER}=${this.#text}`;
  }

  /** Compares digests in a time that does not depend on where they differ. */
  async matches(token: string): Promise<boolean> {
    return await (await (this.#digest ??= TokenDigest.ofToken(this.#text))).matches(token);
  }
}

/**
 * The token in the query of a request target. Null if there is none, or more than one, since they contradict each
 * other.
 */
export function tokenInTarget(target: string): string | null {
  const query = /\?(.*)$/s.exec(target)?.[1];
  const tokens = query === undefined ? [] : new URLSearchParams(query).getAll(PARAMETER);
  return tokens.length === 1 && tokens[0] !== "" ? tokens[0]! : null;
}
