/**
 * Who may upgrade to a websocket: turns an auth configuration into one function over the request's credentials.
 *
 * Refusals carry the reference server's texts, which clients show to people. Secrets live in `#private` fields, so
 * neither logging, JSON nor inspection of a configuration shows them. Reading flags and files is left to the caller.
 */

import { isObject } from "../../json_object.ts";
import { MAX_REQUEST_HEAD_BYTES } from "./http_head.ts";
import { TokenDigest } from "../tokens/token_digest.ts";
import type { Admission, Admissions } from "../tokens/admissions.ts";
import { tokenInTarget, URL_TOKEN_REFUSAL, UrlToken } from "../tokens/url_token.ts";

export { TokenDigest, UrlToken };

/** A configured way to authenticate, or none. */
export type AuthConfig =
  | { readonly type: "none" }
  | { readonly type: "capabilityToken"; readonly token: TokenDigest }
  /** The random token that the server has printed in its URL. */
  | { readonly type: "urlToken"; readonly token: UrlToken }
  /** Tokens from a file, one for each client. */
  | {
    readonly type: "tokens";
    readonly admissions: Admissions;
    /** The server's id, which the patterns of the tokens must match. */
    readonly id: string;
  }
  | {
    readonly type: "signedBearerToken";
    readonly secret: SharedSecret;
    /** What `iss` must equal; null accepts any. */
    readonly issuer: string | null;
    /** What `aud` must be or hold; null accepts any. */
    readonly audience: string | null;
    readonly maxClockSkewSeconds: number;
  };

export type AuthOutcome =
  /** `admission`: for a login that can be revoked. Its receiver releases it. */
  | { readonly ok: true; readonly admission?: Admission }
  | { readonly ok: false; readonly body: string };

/**
 * Judges the value of one `Authorization` header (null if the request has none) and the request target, which may hold
 * the token of a printed URL. Never rejects because of the peer's input.
 */
export type Authenticator = (authorization: string | null, target?: string) => Promise<AuthOutcome>;

/** Every reason to answer 401, as the body of that answer. */
export const AUTH_REFUSAL = {
  missingToken: "missing websocket bearer token",
  invalidHeader: "invalid authorization header",
  wrongToken: "invalid websocket bearer token",
  invalidJwt: "invalid websocket jwt",
  expiredJwt: "expired websocket jwt",
  earlyJwt: "websocket jwt is not valid yet",
  wrongIssuer: "websocket jwt issuer mismatch",
  wrongAudience: "websocket jwt audience mismatch",
} as const;

/** The key of HS256 should not be shorter than its hash (RFC 7518, section 3.2). */
const MIN_SHARED_SECRET_BYTES = 32;

const encoder = new TextEncoder();

/** The HS256 key of signed bearer tokens. It cannot be read back. */
export class SharedSecret {
  readonly #key: CryptoKey;

  private constructor(key: CryptoKey) {
    this.#key = key;
  }

  /** From the secret's text. The key is its UTF-8 bytes. */
  static async import(text: string): Promise<SharedSecret> {
    const bytes = encoder.encode(text);
    if (bytes.length < MIN_SHARED_SECRET_BYTES) {
      throw new RangeError(`a shared secret has at least ${MIN_SHARED_SECRET_BYTES} bytes, this one ${bytes.length}`);
    }
    const algorithm = { name: "HMAC", hash: "SHA-256" };
    return new SharedSecret(await crypto.subtle.importKey("raw", bytes, algorithm, false, ["verify"]));
  }

  /** The payload of a compact JWS signed with this secret by HS256, or null for every other token. */
  async verify(token: string): Promise<Uint8Array | null> {
    // Loaded for the first token, so that servers without signed tokens never load it.
    const { compactVerify } = await import("jose");
    try {
      return (await compactVerify(token, this.#key, { algorithms: ["HS256"] })).payload;
    } catch {
      // Every fault of a token has the same answer. The reason would only help to forge a better one.
      return null;
    }
  }
}

/**
 * The function that judges requests, or null when the configuration lets everybody in. `nowMs` is the time since the
 * epoch, against which tokens expire.
 */
export function createAuthenticator(
  config: AuthConfig,
  { nowMs = Date.now }: { nowMs?: () => number } = {},
): Authenticator | null {
  switch (config.type) {
    case "none":
      return null;
    case "capabilityToken":
      return bearerAuthenticator(async (token) => await config.token.matches(token) ? null : AUTH_REFUSAL.wrongToken);
    case "urlToken":
      return urlTokenAuthenticator(config.token);
    case "tokens":
      return tokensAuthenticator(config);
    case "signedBearerToken":
      return bearerAuthenticator(async (token) => {
        const payload = COMPACT_JWS.test(token) ? await config.secret.verify(token) : null;
        const claims = payload === null ? null : decodeClaims(payload);
        if (claims === null) return AUTH_REFUSAL.invalidJwt;
        return claimsRefusal(claims, config, Math.floor(nowMs() / 1000));
      });
  }
}

/** `judge` answers null to let a token pass, or the body of the refusal. */
function bearerAuthenticator(judge: (token: string) => Promise<string | null>): Authenticator {
  return async (authorization) => {
    if (authorization === null) return { ok: false, body: AUTH_REFUSAL.missingToken };
    const token = bearerToken(authorization);
    const body = token === null ? AUTH_REFUSAL.invalidHeader : await judge(token);
    return body === null ? { ok: true } : { ok: false, body };
  };
}

/** Takes the token from the header, or else from the query. A header must be right if there is one. */
function urlTokenAuthenticator(expected: UrlToken): Authenticator {
  const byHeader = bearerAuthenticator(async (token) => await expected.matches(token) ? null : URL_TOKEN_REFUSAL.wrong);
  return async (authorization, target = "") => {
    if (authorization !== null) return await byHeader(authorization);
    const token = tokenInTarget(target);
    if (token === null) return { ok: false, body: URL_TOKEN_REFUSAL.missing };
    return await expected.matches(token) ? { ok: true } : { ok: false, body: URL_TOKEN_REFUSAL.wrong };
  };
}

/** Lets a client in by its own token. The login can be revoked later. */
function tokensAuthenticator({ admissions, id }: AuthConfig & { type: "tokens" }): Authenticator {
  const wish = { role: "client", id } as const;
  return async (authorization) => {
    if (authorization === null) return { ok: false, body: AUTH_REFUSAL.missingToken };
    const token = bearerToken(authorization);
    if (token === null) return { ok: false, body: AUTH_REFUSAL.invalidHeader };
    const judgement = await admissions.judge(token, wish);
    switch (judgement.type) {
      case "granted":
        return { ok: true, admission: admissions.admit(judgement.entry, wish) };
      case "unknown":
        return { ok: false, body: AUTH_REFUSAL.wrongToken };
      case "expired":
      case "foreign":
        return { ok: false, body: judgement.reason };
    }
  };
}

/** The token of a `Bearer` header, trimmed; null for any other header. */
export function bearerToken(authorization: string): string | null {
  // Longer than a request head, so it cannot have come from one. Do not hash it.
  if (authorization.length > MAX_REQUEST_HEAD_BYTES) return null;
  if (!/^[\t\x20-\x7e]*$/.test(authorization)) return null;
  const token = /^bearer (.*)$/i.exec(authorization.trim())?.[1]?.trim();
  return token === undefined || token === "" ? null : token;
}

/** Three parts of URL-safe base64 without padding. A detached payload or an empty signature proves nothing. */
const COMPACT_JWS = /^[\w-]+\.[\w-]+\.[\w-]+$/;

interface Claims {
  readonly exp: number;
  readonly nbf: number | null;
  readonly iss: string | null;
  readonly aud: readonly string[];
}

/** The claims of a payload whose signature is valid; null if the reference would not decode them. */
function decodeClaims(payload: Uint8Array): Claims | null {
  let parsed: unknown;
  try {
    parsed = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(payload));
  } catch {
    // Not UTF-8 or not JSON: both mean an invalid token.
    return null;
  }
  if (!isObject(parsed)) return null;
  const { exp, nbf = null, iss = null, aud = null } = parsed;
  const audience = aud === null ? [] : typeof aud === "string" ? [aud] : aud;
  if (!isTimestamp(exp) || (nbf !== null && !isTimestamp(nbf))) return null;
  if (iss !== null && typeof iss !== "string") return null;
  if (!Array.isArray(audience) || !audience.every((entry) => typeof entry === "string")) return null;
  return { exp, nbf, iss, aud: audience };
}

/** Whole seconds in the range of a signed 64-bit integer, as in the reference. */
function isTimestamp(value: unknown): value is number {
  return Number.isInteger(value) && Math.abs(value as number) < 2 ** 63;
}

/** The first claim that is wrong, in the reference's order; null if all are right. */
function claimsRefusal(
  claims: Claims,
  expected: { issuer: string | null; audience: string | null; maxClockSkewSeconds: number },
  nowSeconds: number,
): string | null {
  const skew = expected.maxClockSkewSeconds;
  if (nowSeconds > claims.exp + skew) return AUTH_REFUSAL.expiredJwt;
  if (claims.nbf !== null && nowSeconds < claims.nbf - skew) return AUTH_REFUSAL.earlyJwt;
  if (expected.issuer !== null && claims.iss !== expected.issuer) return AUTH_REFUSAL.wrongIssuer;
  if (expected.audience !== null && !claims.aud.includes(expected.audience)) return AUTH_REFUSAL.wrongAudience;
  return null;
}
