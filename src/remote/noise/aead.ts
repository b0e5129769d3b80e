/**
 * AES-256-GCM under one key, with a counter as the nonce, as in Noise: four zero bytes and the counter, big-endian.
 *
 * The runtime's native ciphers do the work, in constant time. Which is the faster one depends on the runtime. In Deno
 * 2.9 WebCrypto works on another thread and seals 60 KiB in 75 us (16 at once) where `node:crypto` takes 340, but a
 * call costs 30 to 100 us of waiting: short records go through `node:crypto`, 8 us for 200 bytes. In Node `node:crypto`
 * is OpenSSL, and the faster one for all lengths: 57 us for 60 KiB in place of 170, 8 in place of 19 for 200 bytes.
 */

import type { Bytes } from "../../bytes.ts";
import { TAG_BYTES } from "./limits.ts";
import { NoiseError } from "./noise_error.ts";

/** Up to this length the call of WebCrypto costs more than Deno's other cipher. */
const MAX_SHORT_BYTES = 2 * 1024;

const NONCE_BYTES = 12;
const NO_DATA = new Uint8Array(0);

/**
 * The part of a cipher of `node:crypto` that is used. Declared here, because users of the package may lack the types of
 * Node.
 */
interface NodeCipher {
  setAAD(associated: Uint8Array): unknown;
  update(bytes: Uint8Array): Uint8Array;
  final(): unknown;
}

/** The two functions of `node:crypto` that are used here. */
interface NodeCrypto {
  createCipheriv(
    name: "aes-256-gcm",
    key: Uint8Array,
    nonce: Uint8Array,
  ): NodeCipher & { getAuthTag(): Uint8Array };
  createDecipheriv(
    name: "aes-256-gcm",
    key: Uint8Array,
    nonce: Uint8Array,
  ): NodeCipher & { setAuthTag(tag: Uint8Array): unknown };
}

/** The cipher that a runtime has besides WebCrypto, and up to which length it is faster. */
export interface SynchronousCipher {
  readonly crypto: NodeCrypto;
  readonly maxBytes: number;
}

/** Null in browsers. Not imported, because bundles for browsers could not contain it. */
function findSynchronousCipher(): SynchronousCipher | null {
  const { process } = globalThis as {
    process?: { getBuiltinModule?: (name: string) => NodeCrypto | undefined; versions?: Record<string, string> };
  };
  const crypto = process?.getBuiltinModule?.("node:crypto");
  if (crypto === undefined) return null;
  const isDeno = process?.versions?.deno !== undefined;
  return { crypto, maxBytes: isDeno ? MAX_SHORT_BYTES : Infinity };
}

export class AeadKey {
  readonly #raw: Bytes;
  readonly #synchronous: SynchronousCipher | null;
  #native: CryptoKey | null = null;
  #importing: Promise<CryptoKey> | null = null;
  #counter = 0;

  /** Becomes the owner of the 32 bytes. */
  constructor(raw: Bytes, synchronous: SynchronousCipher | null = findSynchronousCipher()) {
    this.#raw = raw;
    this.#synchronous = synchronous;
  }

  /** The ciphertext and its tag. Calls may overlap: each takes the next nonce at once. */
  seal(plaintext: Uint8Array, associated: Bytes = NO_DATA): Bytes | Promise<Bytes> {
    const nonce = this.#nextNonce();
    const synchronous = this.#synchronous;
    if (synchronous === null || plaintext.length > synchronous.maxBytes) {
      return this.#sealNative(nonce, plaintext, associated);
    }
    const cipher = synchronous.crypto.createCipheriv("aes-256-gcm", this.#raw, nonce);
    cipher.setAAD(associated);
    const body = cipher.update(plaintext);
    cipher.final();
    const sealed = new Uint8Array(plaintext.length + TAG_BYTES);
    sealed.set(body);
    sealed.set(cipher.getAuthTag(), plaintext.length);
    return sealed;
  }

  /**
   * The plaintext. Calls may overlap: each takes the next nonce at once, and has read its bytes when it returns.
   * Rejects or throws `NoiseError`.
   */
  open(sealed: Bytes, associated: Bytes = NO_DATA): Bytes | Promise<Bytes> {
    if (sealed.length < TAG_BYTES) throw new NoiseError("ciphertext is shorter than its tag");
    const nonce = this.#nextNonce();
    const synchronous = this.#synchronous;
    if (synchronous === null || sealed.length > synchronous.maxBytes) {
      return this.#openNative(nonce, sealed, associated);
    }
    const decipher = synchronous.crypto.createDecipheriv("aes-256-gcm", this.#raw, nonce);
    decipher.setAAD(associated);
    decipher.setAuthTag(sealed.subarray(sealed.length - TAG_BYTES));
    const body = decipher.update(sealed.subarray(0, sealed.length - TAG_BYTES));
    try {
      decipher.final();
    } catch {
      // The only possible error is a wrong tag.
      throw badTag();
    }
    return body.length === 0 ? NO_DATA : new Uint8Array(body);
  }

  async #sealNative(iv: Bytes, plaintext: Uint8Array, additionalData: Bytes): Promise<Bytes> {
    const bytes = this.#native === null ? plaintext.slice() : plaintext as Bytes;
    const key = this.#native ?? await this.#import();
    return new Uint8Array(await crypto.subtle.encrypt({ name: "AES-GCM", iv, additionalData }, key, bytes));
  }

  async #openNative(iv: Bytes, sealed: Bytes, additionalData: Bytes): Promise<Bytes> {
    const bytes = this.#native === null ? sealed.slice() : sealed;
    const key = this.#native ?? await this.#import();
    try {
      return new Uint8Array(await crypto.subtle.decrypt({ name: "AES-GCM", iv, additionalData }, key, bytes));
    } catch {
      // The only possible error is a wrong tag.
      throw badTag();
    }
  }

  async #import(): Promise<CryptoKey> {
    this.#importing ??= crypto.subtle.importKey("raw", this.#raw, "AES-GCM", false, ["encrypt", "decrypt"]);
    return this.#native = await this.#importing;
  }

  #nextNonce(): Bytes {
    const nonce = new Uint8Array(NONCE_BYTES);
    const view = new DataView(nonce.buffer);
    // A safe integer: at a million records a second it lasts 285 years.
    view.setUint32(4, Math.floor(this.#counter / 2 ** 32));
    view.setUint32(8, this.#counter >>> 0);
    this.#counter++;
    return nonce;
  }
}

function badTag(): NoiseError {
  return new NoiseError("ciphertext does not belong to this key, place or peer");
}
