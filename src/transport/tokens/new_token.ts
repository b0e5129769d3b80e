/** Makes tokens. */

/** 256 bits, which is 43 characters of URL-safe base64 without padding. */
const TOKEN_BYTES = 32;

/** A prefix by which people and scanners for secrets recognise our tokens. */
const TOKEN_PREFIX = "est_";

export function createToken(): string {
  const random = crypto.getRandomValues(new Uint8Array(TOKEN_BYTES));
  return TOKEN_PREFIX + random.toBase64({ alphabet: "base64url", omitPadding: true });
}
