/** `SymmetricState` of the Noise Protocol Framework (revision 34, section 5.2), with AES-GCM and SHA-256. */

import { extract } from "@noble/hashes/hkdf.js";
import { hmac } from "@noble/hashes/hmac.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { type Bytes, concatBytes } from "../../bytes.ts";
import { AeadKey } from "./aead.ts";

const EMPTY = new Uint8Array(0);

export class SymmetricState {
  #chainingKey: Bytes;
  #hash: Bytes;
  /** Null while no key is set: then bytes are not encrypted. */
  #key: AeadKey | null = null;

  /** The name is longer than a hash, so it is hashed. */
  constructor(protocolName: string) {
    this.#hash = this.#chainingKey = sha256(new TextEncoder().encode(protocolName)) as Bytes;
  }

  mixHash(bytes: Uint8Array): void {
    this.#hash = sha256(concatBytes([this.#hash, bytes])) as Bytes;
  }

  mixKey(secret: Uint8Array): void {
    const [chainingKey, key] = this.#derive(secret, 2);
    this.#chainingKey = chainingKey!;
    this.#key = new AeadKey(key!);
  }

  mixKeyAndHash(secret: Uint8Array): void {
    const [chainingKey, hash, key] = this.#derive(secret, 3);
    this.#chainingKey = chainingKey!;
    this.mixHash(hash!);
    this.#key = new AeadKey(key!);
  }

  async encryptAndHash(plaintext: Bytes): Promise<Bytes> {
    const sealed = this.#key === null ? plaintext : await this.#key.seal(plaintext, this.#hash);
    this.mixHash(sealed);
    return sealed;
  }

  /** @throws {NoiseError} */
  async decryptAndHash(sealed: Bytes): Promise<Bytes> {
    const plaintext = this.#key === null ? sealed : await this.#key.open(sealed, this.#hash);
    this.mixHash(sealed);
    return plaintext;
  }

  /** The keys for sending: the initiator's, then the responder's. */
  split(): readonly [AeadKey, AeadKey] {
    const [first, second] = this.#derive(EMPTY, 2);
    return [new AeadKey(first!), new AeadKey(second!)];
  }

  /** HKDF of Noise: the outputs of RFC 5869 with an empty info. */
  #derive(secret: Uint8Array, outputs: 2 | 3): Bytes[] {
    const temporary = extract(sha256, secret, this.#chainingKey);
    const derived: Bytes[] = [];
    for (let index = 1; index <= outputs; index++) {
      const previous = derived.at(-1) ?? EMPTY;
      derived.push(hmac(sha256, temporary, concatBytes([previous, Uint8Array.of(index)])) as Bytes);
    }
    return derived;
  }
}
