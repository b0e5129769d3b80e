/** Sizes and bounds of the noise channel; those of the reference. */

const KIB = 1024;
const MIB = 1024 * KIB;

export const X25519_KEY_BYTES = 32;
export const MLKEM_PUBLIC_KEY_BYTES = 1184;
export const MLKEM_CIPHERTEXT_BYTES = 1088;
/** The authentication tag of AES-GCM. */
export const TAG_BYTES = 16;

/** The authorization that the harness shows in message 1. */
export const MAX_AUTHORIZATION_BYTES = 4 * KIB;

const EPHEMERAL_BYTES = X25519_KEY_BYTES + MLKEM_PUBLIC_KEY_BYTES;
const STATIC_BYTES = EPHEMERAL_BYTES + 2 * TAG_BYTES;

/** `skem, e, s` and the tag of the payload: 1088 + 1216 + 1248 + 16. */
export const MESSAGE_1_BYTES = MLKEM_CIPHERTEXT_BYTES + EPHEMERAL_BYTES + STATIC_BYTES + TAG_BYTES;

/** `ekem, skem, e` and the tag of an empty payload: 1088 + 1104 + 1216 + 16. */
export const MESSAGE_2_BYTES = 2 * MLKEM_CIPHERTEXT_BYTES + TAG_BYTES + EPHEMERAL_BYTES + TAG_BYTES;

/** How many plain bytes one record has, so that its frame stays far below the 64 KiB of a Noise message. */
export const MAX_RECORD_BYTES = 60 * KIB;
export const MAX_SEALED_RECORD_BYTES = MAX_RECORD_BYTES + TAG_BYTES;

/** One JSON-RPC message in the stream of records. The same as over a websocket. */
export const MAX_CHANNEL_MESSAGE_BYTES = 64 * MIB;

/** When a record is missing, this many later ones may wait for it, and this many bytes. */
export const MAX_EARLY_RECORDS = 64;
export const MAX_EARLY_BYTES = 1 * MIB;
