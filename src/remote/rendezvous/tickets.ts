/**
 * Short-lived credentials that the rendezvous issues and later checks: the URLs for websockets, which carry no token,
 * and the authorisation of a harness's key.
 *
 * A ticket says what it is for. It is signed with a key that lives as long as the process: after a restart old tickets
 * are invalid, and clients request new ones with their tokens. Nothing is stored for a ticket.
 */

import type { TokenEntry } from "../../transport/tokens/token_file.ts";
import type { TokenTable } from "../../transport/tokens/token_table.ts";

export type TicketPurpose = "executor" | "harness" | "key";

export interface Ticket {
  readonly purpose: TicketPurpose;
  /** The executor's id. */
  readonly id: string;
  readonly registration: string;
  /** The token with which it was requested: its name, and the beginning of its digest, since names are used again. */
  readonly token: readonly [name: string, digestStart: string];
  /** Milliseconds since the epoch. */
  readonly expiresAtMs: number;
  /** Distinguishes tickets that are otherwise equal. */
  readonly nonce: string;
  /** For the purpose `key`: the digest of the harness's public key. */
  readonly keyDigest?: string;
}

/** Enough to distinguish tokens of one name, and far too little to guess a token. */
const DIGEST_START_CHARS = 16;
/** Longer than any ticket of ours. The signature of a longer text is not checked. */
const MAX_TICKET_CHARS = 2048;

const HMAC = { name: "HMAC", hash: "SHA-256" } as const;
const BASE64URL = { alphabet: "base64url", omitPadding: true } as const;
const encoder = new TextEncoder();

export class TicketOffice {
  readonly #key: CryptoKey;

  private constructor(key: CryptoKey) {
    this.#key = key;
  }

  static async open(): Promise<TicketOffice> {
    const secret = crypto.getRandomValues(new Uint8Array(32));
    return new TicketOffice(await crypto.subtle.importKey("raw", secret, HMAC, false, ["sign", "verify"]));
  }

  async issue(ticket: Omit<Ticket, "nonce">): Promise<string> {
    const content = encoder.encode(JSON.stringify({ ...ticket, nonce: randomName() }));
    const signature = new Uint8Array(await crypto.subtle.sign(HMAC, this.#key, content));
    return `${content.toBase64(BASE64URL)}.${signature.toBase64(BASE64URL)}`;
  }

  /** The ticket, if it is one of ours and for this purpose. The caller checks whether it has expired. */
  async read(text: string, purpose: TicketPurpose): Promise<Ticket | null> {
    const [content, signature] = text.length > MAX_TICKET_CHARS ? [] : text.split(".").map(decode);
    if (content === undefined || content === null || signature === undefined || signature === null) return null;
    // Compares in a time that does not depend on where signatures differ.
    if (!await crypto.subtle.verify(HMAC, this.#key, signature, content)) return null;
    const ticket: Ticket = JSON.parse(new TextDecoder().decode(content));
    return ticket.purpose === purpose ? ticket : null;
  }
}

/** How a ticket names a token. */
export function tokenMark({ name, digest }: TokenEntry): Ticket["token"] {
  return [name, digest.toHex().slice(0, DIGEST_START_CHARS)];
}

/** The token of a ticket, if it still exists. */
export function tokenOf({ token: [name, digestStart] }: Ticket, table: TokenTable): TokenEntry | null {
  return table.entries.find((entry) => entry.name === name && tokenMark(entry)[1] === digestStart) ?? null;
}

/** A name that nobody can guess. */
export function randomName(): string {
  return crypto.getRandomValues(new Uint8Array(16)).toBase64(BASE64URL);
}

/** A name that depends on a text, without revealing it. */
export async function digestName(text: string): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", encoder.encode(text)));
  return digest.subarray(0, 16).toBase64(BASE64URL);
}

function decode(text: string): Uint8Array<ArrayBuffer> | null {
  try {
    return Uint8Array.fromBase64(text, { alphabet: "base64url" });
  } catch {
    return null; // Not base64, so not a ticket of ours.
  }
}
