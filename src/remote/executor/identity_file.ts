/**
 * The executor's identity in a file: made once, private, and refused if others may read it.
 *
 * It holds only the seed of the key pair. Two programs that start at once with a new file end up with the same
 * identity.
 */

import { messageOf } from "../../errors.ts";
import { complainOfRights } from "../../transport/tls/tls_files.ts";
import { KEY_SEED_BYTES, type KeyPair, keyPairFrom, systemRandom, toBase64 } from "../noise/keys.ts";

/** By this the file is recognised. */
const VERSION = 1;
/** Far more than such a file has. */
const MAX_FILE_BYTES = 4096;

/** The identity in the file. Makes the file if there is none. The error says what is wrong and what to do. */
export async function loadIdentity(path: string): Promise<KeyPair> {
  const known = await readIdentity(path);
  if (known !== null) return known;
  try {
    await create(path);
  } catch (error) {
    throw new Error(`cannot write --identity-file ${JSON.stringify(path)}: ${messageOf(error)}`, { cause: error });
  }
  // Read again: another program may have been faster.
  return (await readIdentity(path))!;
}

/** Null: there is no such file. */
export async function readIdentity(path: string): Promise<KeyPair | null> {
  const named = `--identity-file ${JSON.stringify(path)}`;
  let text: string;
  try {
    using file = await Deno.open(path);
    const info = await file.stat();
    const complaint = info.isFile ? complainOfRights(info, Deno.uid()) : "is not a regular file";
    if (complaint !== null) throw new Refusal(`${named} ${complaint}`);
    text = await readShort(file);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    if (error instanceof Refusal) throw error;
    throw new Error(`cannot read ${named}: ${messageOf(error)}`, { cause: error });
  }
  const seed = seedIn(text);
  if (seed === null) throw new Error(`${named} holds no identity: move it away, and a new one will be made`);
  return keyPairFrom(seed);
}

class Refusal extends Error {}

async function readShort(file: Deno.FsFile): Promise<string> {
  const bytes = new Uint8Array(MAX_FILE_BYTES);
  let end = 0;
  for (let count = await file.read(bytes); count !== null; count = await file.read(bytes.subarray(end))) {
    end += count;
    if (end === bytes.length) throw new Error(`larger than ${MAX_FILE_BYTES - 1} bytes`);
  }
  return new TextDecoder().decode(bytes.subarray(0, end));
}

function seedIn(text: string): Uint8Array<ArrayBuffer> | null {
  try {
    const { version, seed } = JSON.parse(text);
    const bytes = Uint8Array.from(atob(seed), (character) => character.charCodeAt(0));
    return version === VERSION && bytes.length === KEY_SEED_BYTES ? bytes : null;
  } catch {
    // It is not one of our files. The message must not quote it.
    return null;
  }
}

/** Whole or not at all: written beside it and then linked to its name, which fails if the name exists by now. */
async function create(path: string): Promise<void> {
  await Deno.mkdir(path.replace(/\/[^/]*$/, "") || "/", { recursive: true, mode: 0o700 });
  const draft = `${path}.${crypto.randomUUID()}`;
  const text = JSON.stringify({ version: VERSION, seed: toBase64(systemRandom(KEY_SEED_BYTES)) }) + "\n";
  await Deno.writeTextFile(draft, text, { mode: 0o600, createNew: true });
  try {
    await Deno.link(draft, path);
  } catch (error) {
    if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
  } finally {
    await Deno.remove(draft);
  }
}
