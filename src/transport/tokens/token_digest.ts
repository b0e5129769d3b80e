/** A token that can be compared but not read: only its SHA-256 digest is kept, in a `#private` field. */

const encoder = new TextEncoder();

export class TokenDigest {
  readonly #digest: Uint8Array;
  /** Length of the token; null where only its digest was given. */
  readonly tokenBytes: number | null;

  private constructor(digest: Uint8Array, tokenBytes: number | null) {
    this.#digest = digest;
    this.tokenBytes = tokenBytes;
  }

  static async ofToken(token: string): Promise<TokenDigest> {
    return new TokenDigest(await sha256(token), encoder.encode(token).length);
  }

  /** From 64 hex digits of either case. */
  static fromHex(hex: string): TokenDigest {
    if (!/^[0-9A-Fa-f]{64}$/.test(hex)) throw new RangeError("a SHA-256 digest is 64 hex digits");
    return new TokenDigest(Uint8Array.from(hex.match(/../g)!, (pair) => parseInt(pair, 16)), null);
  }

  async matches(token: string): Promise<boolean> {
    return this.equals(await TokenDigest.ofToken(token));
  }

  /** Compares digests in a time that does not depend on where they differ. */
  equals(other: TokenDigest): boolean {
    let difference = 0;
    for (let i = 0; i < this.#digest.length; i++) difference |= this.#digest[i]! ^ other.#digest[i]!;
    return difference === 0;
  }

  /** As text, for the file of tokens. */
  toHex(): string {
    return Array.from(this.#digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
  }
}

async function sha256(text: string): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", encoder.encode(text)));
}
