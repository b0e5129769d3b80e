/**
 * The `--ws-…` flags as one auth configuration: which may be combined, and the secrets they point to.
 *
 * Every ambiguous combination is refused (exit status 1) rather than resolved by precedence. Messages name flags and
 * paths, never the content of files or a digest.
 */

import { messageOf } from "../../errors.ts";
import { printable } from "../../printable.ts";
import { type AuthConfig, SharedSecret, TokenDigest, UrlToken } from "../../transport/door/auth.ts";
import { systemClock } from "../../clock.ts";
import { ID_RULE, isExecutorId } from "../../transport/tokens/id_pattern.ts";
import type { TokenTable } from "../../transport/tokens/token_table.ts";
import { quoted, refusal } from "../cli_error.ts";
import type { DoorFlags } from "./door_flags.ts";
import type { FlagValues, GivenAs } from "../flags.ts";

export type ReadTextFile = (path: string) => Promise<string>;

type AuthMode = NonNullable<FlagValues<DoorFlags>["ws-auth"]>;

/** Which mode each flag belongs to. */
const MODE_OF_FLAG = {
  tokens: "tokens",
  "tokens-id": "tokens",
  "ws-token-file": "capability-token",
  "ws-token-sha256": "capability-token",
  "ws-shared-secret-file": "signed-bearer-token",
  "ws-issuer": "signed-bearer-token",
  "ws-audience": "signed-bearer-token",
  "ws-max-clock-skew-seconds": "signed-bearer-token",
} as const satisfies Partial<Record<keyof DoorFlags, AuthMode>>;

type ModeFlag = keyof typeof MODE_OF_FLAG;

/** Checks the auth flags against each other and reads what they point to. */
export async function loadAuth(
  values: FlagValues<DoorFlags>,
  givenAs: GivenAs<DoorFlags>,
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
      // Without a chosen address everybody must read the printed URL anyway, so it can carry a token.
      if (givenAs.listen !== undefined || values["insecure-no-auth"]) return { type: "none" };
      return { type: "urlToken", token: UrlToken.create() };
    case "url-token":
      return { type: "urlToken", token: UrlToken.create() };
    case "tokens":
      return await loadTokens(values, givenAs, readTextFile);
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

async function loadTokens(
  values: FlagValues<DoorFlags>,
  givenAs: GivenAs<DoorFlags>,
  readTextFile: ReadTextFile,
): Promise<AuthConfig> {
  const file = values.tokens;
  if (file === null) throw refusal("--ws-auth tokens needs --tokens");
  const id = values["tokens-id"] ?? Deno.hostname();
  if (!isExecutorId(id)) throw refusal(`${givenAs["tokens-id"] ?? "the host name"} ${quoted(id)}: ${ID_RULE}`);
  // Loaded only now: servers without such tokens never pay for them.
  const { Admissions } = await import("../../transport/tokens/admissions.ts");
  const table = await readTokens(file, givenAs.tokens!, readTextFile);
  return { type: "tokens", admissions: new Admissions({ table, clock: systemClock }), id };
}

/** `writtenAs` is the flag or variable that a refusal names. */
export async function readTokens(path: string, writtenAs: string, readTextFile: ReadTextFile): Promise<TokenTable> {
  const { parseTokenFile, TokenFileError } = await import("../../transport/tokens/token_file.ts");
  const text = await readSecret(path, writtenAs, readTextFile);
  try {
    return parseTokenFile(text);
  } catch (error) {
    if (!(error instanceof TokenFileError)) throw error;
    throw refusal(`${writtenAs} ${quoted(path)} is not a file of tokens: ${error.message}`, error);
  }
}

async function loadTokenDigest(
  values: FlagValues<DoorFlags>,
  givenAs: GivenAs<DoorFlags>,
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
    throw refusal(`${givenAs["ws-token-file"]} ${quoted(file)}: a token must be one line of printable ASCII`);
  }
  return await TokenDigest.ofToken(token);
}

async function loadSharedSecret(
  values: FlagValues<DoorFlags>,
  givenAs: GivenAs<DoorFlags>,
  readTextFile: ReadTextFile,
): Promise<SharedSecret> {
  const file = values["ws-shared-secret-file"];
  if (file === null) throw refusal("--ws-auth signed-bearer-token needs --ws-shared-secret-file");
  const writtenAs = givenAs["ws-shared-secret-file"]!;
  const secret = await readSecret(file, writtenAs, readTextFile);
  return await orRefuse(`${writtenAs} ${quoted(file)}`, () => SharedSecret.import(secret));
}

/** The trimmed content of a file that must not be empty. */
async function readSecret(path: string, writtenAs: string, readTextFile: ReadTextFile): Promise<string> {
  let text: string;
  try {
    text = (await readTextFile(path)).trim();
  } catch (error) {
    throw refusal(`cannot read ${writtenAs} ${quoted(path)}: ${printable(messageOf(error))}`, error);
  }
  if (text === "") throw refusal(`${writtenAs} ${quoted(path)}: the file is empty`);
  // Decoding has replaced what was not UTF-8: different secrets would have become the same, weaker one.
  if (text.includes("\ufffd")) throw refusal(`${writtenAs} ${quoted(path)}: the file is not UTF-8 text`);
  return text;
}

/** Turns the error of a secret's constructor into a refusal that says where the secret came from. */
async function orRefuse<T>(origin: string, make: () => Promise<T>): Promise<T> {
  try {
    return await make();
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw refusal(`${origin}: ${error.message}`);
  }
}
