/**
 * What the noise channel is called, in the registry's calls. Apart from the keys, because a rendezvous compares the names
 * and needs none of the arithmetic.
 */

/** The registry's name of the protocol. The one that is hashed into the handshake has no `X`. */
export const SUITE = "Noise_hybridIK_X25519+MLKEM768_AESGCM_SHA256";

/** The name by which registrations and answers agree on it. */
export const SECURITY_PROFILE = "noise_hybrid_ik_v1";
