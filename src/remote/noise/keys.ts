/**
 * Key pairs of the noise channel, their public halves on the wire, and the fingerprint people compare.
 *
 * A pair is made from 96 bytes of secret randomness. For a lasting pair only these bytes are kept.
 */

import { x25519 } from "@noble/curves/ed25519.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { ml_kem768 } from "@noble/post-quantum/ml-kem.js";
import { type Bytes, concatBytes } from "../../bytes.ts";
import { isObject } from "../../json_object.ts";
import { MLKEM_PUBLIC_KEY_BYTES, X25519_KEY_BYTES } from "./limits.ts";
import { NoiseError } from "./noise_error.ts";
import { SUITE } from "./suite.ts";

export interface PublicKey {
  readonly x25519: Bytes;
  readonly mlkem768: Bytes;
}

export interface KeyPair {
  readonly publicKey: PublicKey;
  readonly x25519Secret: Bytes;
  readonly mlkem768Secret: Bytes;
}

/** A public key in the registry's calls. */
export interface WirePublicKey {
  readonly suite: typeof SUITE;
  readonly x25519_public_key: string;
  readonly mlkem768_public_key: string;
}

const X25519_SEED_BYTES = 32;
const MLKEM_SEED_BYTES = 64;
export const KEY_SEED_BYTES = X25519_SEED_BYTES + MLKEM_SEED_BYTES;

/** The source of secret bytes. */
export type RandomBytes = (count: number) => Bytes;

export const systemRandom: RandomBytes = (count) => crypto.getRandomValues(new Uint8Array(count));

/** The key pair of a seed. */
export function keyPairFrom(seed: Bytes): KeyPair {
  if (seed.length !== KEY_SEED_BYTES) {
    throw new RangeError(`a key seed has ${KEY_SEED_BYTES} bytes, not ${seed.length}`);
  }
  const x25519Secret = seed.slice(0, X25519_SEED_BYTES);
  const { publicKey, secretKey } = ml_kem768.keygen(seed.subarray(X25519_SEED_BYTES));
  return {
    publicKey: { x25519: own(x25519.getPublicKey(x25519Secret)), mlkem768: own(publicKey) },
    x25519Secret,
    mlkem768Secret: own(secretKey),
  };
}

export function generateKeyPair(random: RandomBytes = systemRandom): KeyPair {
  return keyPairFrom(random(KEY_SEED_BYTES));
}

export function encodePublicKey(key: PublicKey): WirePublicKey {
  return {
    suite: SUITE,
    x25519_public_key: toBase64(key.x25519),
    mlkem768_public_key: toBase64(key.mlkem768),
  };
}

const WIRE_MEMBERS = ["suite", "x25519_public_key", "mlkem768_public_key"];

/** Reads a public key from the registry. Unknown members are refused, as the reference does. @throws {NoiseError} */
export function parsePublicKey(value: unknown): PublicKey {
  if (!isObject(value)) throw new NoiseError("public key is not an object");
  const unknown = Object.keys(value).find((name) => !WIRE_MEMBERS.includes(name));
  if (unknown !== undefined) throw new NoiseError("public key has an unknown member");
  if (value.suite !== SUITE) throw new NoiseError(`public key is not of the suite ${SUITE}`);
  return {
    x25519: fromBase64(value.x25519_public_key, "x25519_public_key", X25519_KEY_BYTES),
    mlkem768: fromBase64(value.mlkem768_public_key, "mlkem768_public_key", MLKEM_PUBLIC_KEY_BYTES),
  };
}

/**
 * The fingerprint that people compare and clients remember: SHA-256 of suite and both keys, in base64 without padding,
 * as in OpenSSH.
 */
export function fingerprint(key: PublicKey): string {
  const digest = sha256(concatBytes([new TextEncoder().encode(SUITE), key.x25519, key.mlkem768]));
  return `SHA256:${toBase64(own(digest)).replace(/=+$/, "")}`;
}

/** With the standard alphabet and padding. Not `toBase64`, which Node before 25 and older browsers lack. */
export function toBase64(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text);
}

function fromBase64(value: unknown, name: string, length: number): Bytes {
  let text: string;
  try {
    if (typeof value !== "string") throw new TypeError("not a text");
    text = atob(value);
  } catch {
    // It is not base64, so it is not a key.
    throw new NoiseError(`${name} is not base64`);
  }
  // `atob` accepts blanks and missing padding, but a key has only one spelling.
  if (text.length !== length || btoa(text) !== value) {
    throw new NoiseError(`${name} is not the base64 of ${length} bytes`);
  }
  return Uint8Array.from(text, (character) => character.charCodeAt(0));
}

/** The types of the libraries allow any buffer, but the arrays always have an `ArrayBuffer`. */
function own(bytes: Uint8Array): Bytes {
  return bytes as Bytes;
}
