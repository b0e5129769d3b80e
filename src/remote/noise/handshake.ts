/**
 * The handshake of the noise channel, for both roles: the pattern IK with a post-quantum half.
 *
 * The initiator (harness) knows the key of the responder (executor) beforehand. It shows its own in message 1, together
 * with the authorization that the registry gave it. The responder judges both before it answers. Afterwards both sides
 * have a key for each direction. Messages have exactly the expected lengths; anything else throws `NoiseError`.
 */

import { x25519 } from "@noble/curves/ed25519.js";
import { ml_kem768 } from "@noble/post-quantum/ml-kem.js";
import { type Bytes, concatBytes } from "../../bytes.ts";
import type { AeadKey } from "./aead.ts";
import { generateKeyPair, type KeyPair, type PublicKey, type RandomBytes, systemRandom } from "./keys.ts";
import {
  MAX_AUTHORIZATION_BYTES,
  MESSAGE_1_BYTES,
  MESSAGE_2_BYTES,
  MLKEM_CIPHERTEXT_BYTES,
  MLKEM_PUBLIC_KEY_BYTES,
  TAG_BYTES,
  X25519_KEY_BYTES,
} from "./limits.ts";
import { NoiseError } from "./noise_error.ts";
import { SymmetricState } from "./symmetric_state.ts";

/** What both sides must agree on. Otherwise no message can be opened. */
export interface HandshakeContext {
  readonly environmentId: string;
  readonly executorRegistrationId: string;
  readonly streamId: string;
}

export interface ChannelKeys {
  readonly send: AeadKey;
  readonly receive: AeadKey;
}

const PROTOCOL_NAME = "Noise_hybridIK_25519+MLKEM768_AESGCM_SHA256";
const PROLOGUE_LABEL = "codex-exec-server-relay-noise/v1";
const MLKEM_SHARED_BYTES = 32;
const EMPTY = new Uint8Array(0);

export interface InitiatorOptions {
  readonly identity: KeyPair;
  readonly responder: PublicKey;
  readonly context: HandshakeContext;
  readonly authorization: string;
  readonly random?: RandomBytes;
}

export class Initiator {
  readonly #state: SymmetricState;
  readonly #identity: KeyPair;
  readonly #ephemeral: KeyPair;
  readonly message: Bytes;

  private constructor(state: SymmetricState, identity: KeyPair, ephemeral: KeyPair, message: Bytes) {
    this.#state = state;
    this.#identity = identity;
    this.#ephemeral = ephemeral;
    this.message = message;
  }

  /** Writes message 1: `skem, e, es, s, ss`, and the authorization. */
  static async start(options: InitiatorOptions): Promise<Initiator> {
    const { identity, responder, context, random = systemRandom } = options;
    const authorization = new TextEncoder().encode(options.authorization);
    if (authorization.length > MAX_AUTHORIZATION_BYTES) {
      throw new NoiseError(`authorization is longer than ${MAX_AUTHORIZATION_BYTES} bytes`);
    }
    const state = openingState(context, responder);
    const ephemeral = generateKeyPair(random);
    const skem = encapsulate(responder.mlkem768, random);
    const parts = [await state.encryptAndHash(skem.cipherText)];
    state.mixKeyAndHash(skem.sharedSecret);
    parts.push(...mixEphemeral(state, ephemeral.publicKey));
    state.mixKey(agree(ephemeral, responder.x25519));
    parts.push(await state.encryptAndHash(identity.publicKey.x25519));
    parts.push(await state.encryptAndHash(identity.publicKey.mlkem768));
    state.mixKey(agree(identity, responder.x25519));
    parts.push(await state.encryptAndHash(authorization));
    return new Initiator(state, identity, ephemeral, concatBytes(parts));
  }

  /** Reads message 2. @throws {NoiseError} */
  async finish(message: Bytes): Promise<ChannelKeys> {
    if (message.length !== MESSAGE_2_BYTES) throw wrongLength(2, message.length);
    const reader = new Cutter(message);
    const ekem = reader.take(MLKEM_CIPHERTEXT_BYTES);
    this.#state.mixHash(ekem);
    this.#state.mixKey(decapsulate(ekem, this.#ephemeral));
    const skem = await this.#state.decryptAndHash(reader.take(MLKEM_CIPHERTEXT_BYTES + TAG_BYTES));
    this.#state.mixKeyAndHash(decapsulate(skem, this.#identity));
    const theirs = takeEphemeral(this.#state, reader);
    this.#state.mixKey(agree(this.#ephemeral, theirs.x25519));
    this.#state.mixKey(agree(this.#identity, theirs.x25519));
    await this.#state.decryptAndHash(reader.take(TAG_BYTES));
    const [send, receive] = this.#state.split();
    return { send, receive };
  }
}

export interface ResponderOptions {
  readonly identity: KeyPair;
  readonly context: HandshakeContext;
  readonly message: Bytes;
}

export class Responder {
  readonly #state: SymmetricState;
  readonly #initiatorEphemeral: PublicKey;
  /** The key of the peer. The message proves that the peer has it. The caller decides whether to let it in. */
  readonly initiator: PublicKey;
  readonly authorization: string;

  private constructor(state: SymmetricState, ephemeral: PublicKey, initiator: PublicKey, authorization: string) {
    this.#state = state;
    this.#initiatorEphemeral = ephemeral;
    this.initiator = initiator;
    this.authorization = authorization;
  }

  /** Reads message 1. @throws {NoiseError} */
  static async read({ identity, context, message }: ResponderOptions): Promise<Responder> {
    if (message.length < MESSAGE_1_BYTES || message.length > MESSAGE_1_BYTES + MAX_AUTHORIZATION_BYTES) {
      throw wrongLength(1, message.length);
    }
    const state = openingState(context, identity.publicKey);
    const reader = new Cutter(message);
    const skem = await state.decryptAndHash(reader.take(MLKEM_CIPHERTEXT_BYTES));
    state.mixKeyAndHash(decapsulate(skem, identity));
    const ephemeral = takeEphemeral(state, reader);
    state.mixKey(agree(identity, ephemeral.x25519));
    const initiator = {
      x25519: await state.decryptAndHash(reader.take(X25519_KEY_BYTES + TAG_BYTES)),
      mlkem768: await state.decryptAndHash(reader.take(MLKEM_PUBLIC_KEY_BYTES + TAG_BYTES)),
    };
    state.mixKey(agree(identity, initiator.x25519));
    const authorization = await state.decryptAndHash(reader.rest());
    return new Responder(state, ephemeral, initiator, utf8(authorization));
  }

  /** Writes message 2: `ekem, skem, e, ee, se`, with an empty payload. @throws {NoiseError} for invalid keys */
  async answer(random: RandomBytes = systemRandom): Promise<{ readonly message: Bytes; readonly keys: ChannelKeys }> {
    const state = this.#state;
    const ephemeral = generateKeyPair(random);
    const ekem = encapsulate(this.#initiatorEphemeral.mlkem768, random);
    state.mixHash(ekem.cipherText);
    state.mixKey(ekem.sharedSecret);
    const skem = encapsulate(this.initiator.mlkem768, random);
    const parts = [ekem.cipherText, await state.encryptAndHash(skem.cipherText)];
    state.mixKeyAndHash(skem.sharedSecret);
    parts.push(...mixEphemeral(state, ephemeral.publicKey));
    state.mixKey(agree(ephemeral, this.#initiatorEphemeral.x25519));
    state.mixKey(agree(ephemeral, this.initiator.x25519));
    parts.push(await state.encryptAndHash(EMPTY));
    const [receive, send] = state.split();
    return { message: concatBytes(parts), keys: { send, receive } };
  }
}

function openingState(context: HandshakeContext, responder: PublicKey): SymmetricState {
  const state = new SymmetricState(PROTOCOL_NAME);
  state.mixHash(prologueOf(context));
  state.mixHash(responder.x25519);
  state.mixHash(responder.mlkem768);
  return state;
}

/** Each text comes after its length, so that two contexts never have the same bytes. */
function prologueOf(context: HandshakeContext): Bytes {
  const texts = [PROLOGUE_LABEL, context.environmentId, context.executorRegistrationId, context.streamId];
  return concatBytes(texts.flatMap((text) => {
    const bytes = new TextEncoder().encode(text);
    const length = new Uint8Array(8);
    new DataView(length.buffer).setUint32(4, bytes.length);
    return [length, bytes];
  }));
}

/** `e`: both keys in clear. */
function mixEphemeral(state: SymmetricState, key: PublicKey): Bytes[] {
  state.mixHash(key.x25519);
  state.mixHash(key.mlkem768);
  return [key.x25519, key.mlkem768];
}

function takeEphemeral(state: SymmetricState, reader: Cutter): PublicKey {
  const key = { x25519: reader.take(X25519_KEY_BYTES), mlkem768: reader.take(MLKEM_PUBLIC_KEY_BYTES) };
  mixEphemeral(state, key);
  return key;
}

/** X25519. The library refuses keys of small order, which give the same secret with every key. */
function agree({ x25519Secret }: KeyPair, theirs: Bytes): Uint8Array {
  try {
    return x25519.getSharedSecret(x25519Secret, theirs);
  } catch (error) {
    throw new NoiseError("X25519 key is not valid for key agreement", { cause: error });
  }
}

function encapsulate(key: Bytes, random: RandomBytes): { cipherText: Bytes; sharedSecret: Uint8Array } {
  try {
    const { cipherText, sharedSecret } = ml_kem768.encapsulate(key, random(MLKEM_SHARED_BYTES));
    return { cipherText: cipherText as Bytes, sharedSecret };
  } catch (error) {
    throw new NoiseError("ML-KEM key is not valid", { cause: error });
  }
}

/**
 * A wrong ciphertext is not an error here. It gives a secret that the peer does not have, so the next tag does not
 * match.
 */
function decapsulate(cipherText: Bytes, { mlkem768Secret }: KeyPair): Uint8Array {
  return ml_kem768.decapsulate(cipherText, mlkem768Secret);
}

function utf8(bytes: Bytes): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    // The decoder's error says nothing more.
    throw new NoiseError("authorization is not valid UTF-8");
  }
}

function wrongLength(message: 1 | 2, bytes: number): NoiseError {
  return new NoiseError(`handshake message ${message} has ${bytes} bytes`);
}

/** Reads the parts of a message in order. */
class Cutter {
  readonly #bytes: Bytes;
  #at = 0;

  constructor(bytes: Bytes) {
    this.#bytes = bytes;
  }

  take(count: number): Bytes {
    return this.#bytes.subarray(this.#at, this.#at += count);
  }

  rest(): Bytes {
    return this.#bytes.subarray(this.#at);
  }
}
