/**
 * The bodies of the registry's requests. Unknown members are ignored, since other versions send some. Inside a public
 * key they are refused, as in the reference.
 */

import * as z from "zod/mini";
import { concatBytes } from "../../bytes.ts";
import { MLKEM_PUBLIC_KEY_BYTES, X25519_KEY_BYTES } from "../noise/limits.ts";
import { SECURITY_PROFILE, SUITE } from "../noise/suite.ts";

/** Names are for people and lists. */
const MAX_NAME_CHARS = 128;
const Name = z.string().check(z.maxLength(MAX_NAME_CHARS));

function base64Of(bytes: number) {
  return z.string().check(z.refine((text) => decodedLength(text) === bytes, `must be ${bytes} bytes in base64`));
}

const PublicKey = z.strictObject({
  suite: z.literal(SUITE),
  x25519_public_key: base64Of(X25519_KEY_BYTES),
  mlkem768_public_key: base64Of(MLKEM_PUBLIC_KEY_BYTES),
});
export type PublicKey = z.infer<typeof PublicKey>;

/** Sent by 0.129 and 0.130. `metadata.version` is our own executor's. */
export const SeedRegistration = z.object({
  idempotency_id: z.string().check(z.minLength(1), z.maxLength(256)),
  executor_id: z.optional(z.string()),
  name: z.optional(Name),
  metadata: z.optional(z.object({ version: z.optional(Name) })),
});

/** `name`, `version` and `streamAcks` are our own executor's. */
export const NoiseRegistration = z.object({
  security_profile: z.literal(SECURITY_PROFILE),
  executor_public_key: PublicKey,
  name: z.optional(Name),
  version: z.optional(Name),
  streamAcks: z.optional(z.boolean()),
});

export const ConnectRequest = z.object({ harness_public_key: PublicKey });

export const ValidateRequest = z.object({
  executor_registration_id: z.string(),
  harness_public_key: PublicKey,
  harness_key_authorization: z.string(),
});

/** The body as the schema has it, or what is wrong with it. */
export function decodeBody<Schema extends z.ZodMiniType>(
  schema: Schema,
  body: Uint8Array,
): { readonly value: z.infer<Schema> } | { readonly complaint: string } {
  let json: unknown;
  try {
    json = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
  } catch {
    // The parser's message quotes the text, which may hold a secret.
    return { complaint: "the body is not JSON" };
  }
  const { success, data, error } = schema.safeParse(json);
  if (success) return { value: data };
  const [issue] = error.issues;
  return { complaint: `${issue!.path.join(".") || "the body"}: ${issue!.message}` };
}

/** The fingerprint of a public key, as our executors and clients show it: `SHA256:` and a digest of its parts. */
export async function keyFingerprint({ suite, x25519_public_key, mlkem768_public_key }: PublicKey): Promise<string> {
  const parts = [new TextEncoder().encode(suite), ...[x25519_public_key, mlkem768_public_key].map(fromBase64)];
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", concatBytes(parts)));
  return `SHA256:${digest.toBase64({ omitPadding: true })}`;
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.fromBase64(text);
}

function decodedLength(text: string): number | null {
  try {
    return fromBase64(text).length;
  } catch {
    return null;
  }
}
