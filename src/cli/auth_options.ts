/**
 * The `--ws-…` flags as one auth configuration: which may stand together, and the secrets they point to.
 *
 * Every combination that leaves open what was meant is refused (exit status 1) rather than resolved by precedence.
 * Messages name flags and paths, never what is in the files or in a digest.
 */

import { type AuthConfig, SharedSecret, TokenDigest } from "../transport/auth.ts";
import { quoted, refusal } from "./cli_error.ts";
import type { FlagValues, GivenAs } from "./flags.ts";
import type { ServeFlags } from "./serve_flags.ts";

export type ReadTextFile = (path: string) => Promise<string>;

type AuthMode = NonNullable<FlagValues<ServeFlags>["ws-auth"]>;

/** Which mode each flag belongs to. */
const MODE_OF_FLAG = {
  "ws-token-file": "capability-token",
  "ws-token-sha256": "capability-token",
  "ws-shared-secret-file": "signed-bearer-token",
  "ws-issuer": "signed-bearer-token",
  "ws-audience": "signed-bearer-token",
  "ws-max-clock-skew-seconds": "signed-bearer-token",
} as const satisfies Partial<Record<keyof ServeFlags, AuthMode>>;

type ModeFlag = keyof typeof MODE_OF_FLAG;

/** Checks the auth flags against each other and reads what they point to. */
export async function loadAuth(
  values: FlagValues<ServeFlags>,
  givenAs: GivenAs<ServeFlags>,
  readTextFile: ReadTextFile,
): Promise<AuthConfig> {
  const mode = values["ws-auth"];
  for (const flag of Object.keys(MODE_OF_FLAG) as ModeFlag[]) {
    const writtenAs = givenAs[flag];
    if (writtenAs === undefined || MODE_OF_FLAG[flag] === mode) continue;
    throw refusal(`${writtenAs} needs --ws-auth ${MODE_OF_FLAG[flag]}`);
  }
  if (mode !== null && values["insecure-no-auth"]) {
    throw refusal(`${givenAs["insecure-no-auth"]} and ${givenAs["ws-auth"]} contradict each other`);
  }

  switch (mode) {
    case null:
      return { type: "none" };
    case "capability-token":
      return { type: "capabilityToken", token: await loadTokenDigest(values, givenAs, readTextFile) };
    case "signed-bearer-token":
      return {
        type: "signedBearerToken",
        secret: await loadSharedSecret(values, givenAs, readTextFile),
        issuer: values["ws-issuer"],
        audience: values["ws-audience"],
        maxClockSkewSeconds: values["ws-max-clock-skew-seconds"],
      };
  }
}

async function loadTokenDigest(
  values: FlagValues<ServeFlags>,
  givenAs: GivenAs<ServeFlags>,
  readTextFile: ReadTextFile,
): Promise<TokenDigest> {
  const file = values["ws-token-file"];
  const digest = values["ws-token-sha256"];
  if (file !== null && digest !== null) {
    throw refusal(`${givenAs["ws-token-file"]} and ${givenAs["ws-token-sha256"]} cannot be given together`);
  }
  if (digest !== null) {
    return orRefuse(givenAs["ws-token-sha256"]!, () => Promise.resolve(TokenDigest.fromHex(digest)));
  }
  if (file === null) throw refusal("--ws-auth capability-token needs --ws-token-file or --ws-token-sha256");

  const token = await readSecret(file, givenAs["ws-token-file"]!, readTextFile);
  if (!/^[\x20-\x7e]+$/.test(token)) {
    throw refusal(`${givenAs["ws-token-file"]} ${quoted(file)}: a token is one line of printable ASCII`);
  }
  return await TokenDigest.ofToken(token);
}

async function loadSharedSecret(
  values: FlagValues<ServeFlags>,
  givenAs: GivenAs<ServeFlags>,
  readTextFile: ReadTextFile,
): Promise<SharedSecret> {
  const file = values["ws-shared-secret-file"];
  if (file === null) throw refusal("--ws-auth signed-bearer-token needs --ws-shared-secret-file");
  const writtenAs = givenAs["ws-shared-secret-file"]!;
  const secret = await readSecret(file, writtenAs, readTextFile);
  return await orRefuse(`${writtenAs} ${quoted(file)}`, () => SharedSecret.import(secret));
}

/** The trimmed content of a file that must hold something. */
async function readSecret(path: string, writtenAs: string, readTextFile: ReadTextFile): Promise<string> {
  let text: string;
  try {
    text = (await readTextFile(path)).trim();
  } catch (error) {
    throw refusal(`cannot read ${writtenAs} ${quoted(path)}: ${error instanceof Error ? error.message : error}`, error);
  }
  if (text === "") throw refusal(`${writtenAs} ${quoted(path)}: the file is empty`);
  // Decoding has replaced what was not UTF-8: different secrets would have become the same, weaker one.
  if (text.includes("\ufffd")) throw refusal(`${writtenAs} ${quoted(path)}: the file is not UTF-8 text`);
  return text;
}

/** Turns the complaint of a secret's constructor into a refusal that says where the secret came from. */
async function orRefuse<T>(origin: string, make: () => Promise<T>): Promise<T> {
  try {
    return await make();
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw refusal(`${origin}: ${error.message}`);
  }
}
