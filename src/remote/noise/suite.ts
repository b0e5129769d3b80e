/**
 * The names of the noise channel in the registry's calls. In a file without the keys, because a rendezvous compares the
 * names and does not need the cryptography.
 */

/** The registry's name of the protocol. The name that is hashed into the handshake has no `X`. */
export const SUITE = "Noise_hybridIK_X25519+MLKEM768_AESGCM_SHA256";

/** The name of the security profile in registrations and answers. */
export const SECURITY_PROFILE = "noise_hybrid_ik_v1";
