/**
 * What `doctor` says of the identity that remote mode uses: its fingerprint, for people to compare. Nothing is made: where
 * there is none the report says so. The noise half is loaded only if there is a file.
 */

import { messageOf } from "../../errors.ts";

export interface IdentityReport {
  /** Null: there is no home, and no flag. */
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
    // Whatever keeps it from being seen keeps it from being used.
    return false;
  }
}
