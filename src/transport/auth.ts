/**
 * Who may upgrade to a websocket: turns an auth configuration into one function over the `Authorization` header.
 *
 * Refusals carry the reference server's texts, which clients show to people. Secrets live in `#private` fields, so
 * neither logging, JSON nor inspection of a configuration shows them. Reading flags and files is left to the caller.
 */

import { MAX_HEAD_BYTES } from "./http_head.ts";

/** A configured way to authenticate, or none. */
export type AuthConfig =
  | { readonly type: "none" }
  | { readonly type: "capabilityToken"; readonly token: TokenDigest }
  | {
    readonly type: "signedBearerToken";
    readonly secret: SharedSecret;
    /** What `iss` must equal; null accepts any. */
    readonly issuer: string | null;
    /** What `aud` must be or hold; null accepts any. */
    readonly audience: string | null;
    readonly maxClockSkewSeconds: number;
  };

export type AuthOutcome = { readonly ok: true } | { readonly ok: false; readonly body: string };

/** Judges the value of one `Authorization` header, null when the request has none. Never rejects on peer input. */
export type Authenticator = (authorization: string | null) => Promise<AuthOutcome>;

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
export const MIN_SHARED_SECRET_BYTES = 32;

const encoder = new TextEncoder();

/** A capability token of which only the SHA-256 digest is kept. */
export class TokenDigest {
  readonly #digest: Uint8Array;

  private constructor(digest: Uint8Array) {
    this.#digest = digest;
  }

  static async ofToken(token: string): Promise<TokenDigest> {
    return new TokenDigest(await sha256(token));
  }

  /** From 64 hex digits of either case. */
  static fromHex(hex: string): TokenDigest {
    if (!/^[0-9A-Fa-f]{64}$/.test(hex)) throw new RangeError("a SHA-256 digest is 64 hex digits");
    return new TokenDigest(Uint8Array.from(hex.match(/../g)!, (pair) => parseInt(pair, 16)));
  }

  /** Compares digests in a time that does not depend on where they differ. */
  async matches(token: string): Promise<boolean> {
    const other = await sha256(token);
    let difference = 0;
    for (let i = 0; i < other.length; i++) difference |= other[i]! ^ this.#digest[i]!;
    return difference === 0;
  }
}

/** The HS256 key of signed bearer tokens, held where it cannot be read back. */
export class SharedSecret {
  readonly #key: CryptoKey;

  private constructor(key: CryptoKey) {
    this.#key = key;
  }

  /** From the secret's text, of which the UTF-8 bytes are the key. */
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
    // Loaded by the first token, so that servers without signed tokens never pay for it.
    const { compactVerify } = await import("jose");
    try {
      return (await compactVerify(token, this.#key, { algorithms: ["HS256"] })).payload;
    } catch {
      // Whatever is wrong with a peer's token has one answer; the reason would only help to forge a better one.
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

/** The token of a `Bearer` header, trimmed; null when the header is anything else. */
function bearerToken(authorization: string): string | null {
  // Longer than a request head: it did not come from one, and is not worth hashing.
  if (authorization.length > MAX_HEAD_BYTES) return null;
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

/** The claims of a payload whose signature holds, or null when they are not what the reference decodes. */
function decodeClaims(payload: Uint8Array): Claims | null {
  let parsed: unknown;
  try {
    parsed = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(payload));
  } catch {
    // Not UTF-8 or not JSON: both mean an invalid token.
    return null;
  }
  if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed)) return null;
  const { exp, nbf = null, iss = null, aud = null } = parsed as Record<string, unknown>;
  const audience = aud === null ? [] : typeof aud === "string" ? [aud] : aud;
  if (!isTimestamp(exp) || (nbf !== null && !isTimestamp(nbf))) return null;
  if (iss !== null && typeof iss !== "string") return null;
  if (!Array.isArray(audience) || !audience.every((entry) => typeof entry === "string")) return null;
  return { exp, nbf, iss, aud: audience };
}

/** Whole seconds in the range of a signed 64-bit integer, which is what the reference takes. */
function isTimestamp(value: unknown): value is number {
  return Number.isInteger(value) && Math.abs(value as number) < 2 ** 63;
}

/** The first claim that does not hold, in the reference's order, or null when all do. */
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

async function sha256(text: string): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", encoder.encode(text)));
}
