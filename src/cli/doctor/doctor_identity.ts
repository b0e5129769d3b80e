/**
 * What `doctor` reports about the identity of remote mode: its fingerprint, for people to compare. It never makes an
 * identity: if there is none, the report says so. The cryptography is loaded only if there is a file.
 */

import { messageOf } from "../../errors.ts";

export interface IdentityReport {
  /** Null: there is no home directory and no flag. */
  readonly file: string | null;
  /** Null: there is none yet, or it cannot be used. */
  readonly fingerprint: string | null;
  /** Why it cannot be used. */
  readonly refused: string | null;
}

export async function identityReport(
  flag: string | null,
  env: Readonly<Record<string, string | undefined>>,
): Promise<IdentityReport> {
  const { defaultIdentityFile } = await import("../../remote/executor/identity_place.ts");
  const file = flag ?? defaultIdentityFile(env);
  if (file === null || !await exists(file)) return { file, fingerprint: null, refused: null };
  const { readIdentity } = await import("../../remote/executor/identity_file.ts");
  const { fingerprint } = await import("../../remote/noise/keys.ts");
  try {
    const identity = await readIdentity(file);
    return { file, fingerprint: identity === null ? null : fingerprint(identity.publicKey), refused: null };
  } catch (error) {
    return { file, fingerprint: null, refused: messageOf(error) };
  }
}

async function exists(path: string): Promise<boolean> {
  try {
    await Deno.lstat(path);
    return true;
  } catch {
    // If doctor cannot read it, the server cannot use it.
    return false;
  }
}
