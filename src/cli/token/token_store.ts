/**
 * Changes a file of tokens: one change at a time. Readers see the old file or the new one.
 *
 * The lock is a file beside it, which is never removed: two programs could lock a removed one and its successor.
 */

import { writeFully } from "../../bytes.ts";
import { messageOf } from "../../errors.ts";
import { printable } from "../../printable.ts";
import { formatTokenFile, parseTokenFile, type TokenEntry, TokenFileError } from "../../transport/tokens/token_file.ts";
import { quoted, refusal } from "../cli_error.ts";

/** The entries of a file. One that does not exist has none. */
export async function readTokenFile(path: string): Promise<readonly TokenEntry[]> {
  let text: string;
  try {
    text = await Deno.readTextFile(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return [];
    throw refusal(`cannot read --tokens ${quoted(path)}: ${printable(messageOf(error))}`, error);
  }
  try {
    return parseTokenFile(text).entries;
  } catch (error) {
    if (!(error instanceof TokenFileError)) throw error;
    throw refusal(`--tokens ${quoted(path)} is not a file of tokens: ${error.message}`, error);
  }
}

/** Replaces the entries by the result of `change`. */
export async function changeTokenFile(
  path: string,
  change: (entries: readonly TokenEntry[]) => readonly TokenEntry[],
): Promise<void> {
  try {
    using lock = await Deno.open(`${path}.lock`, { create: true, write: true, mode: 0o600 });
    await lock.lock(true);
    const changed = formatTokenFile(change(await readTokenFile(path)));
    const beside = `${path}.${crypto.randomUUID()}.new`;
    try {
      using file = await Deno.open(beside, { createNew: true, write: true, mode: 0o600 });
      await writeFully(file, new TextEncoder().encode(changed));
      // A crash must not leave an empty file behind, which would lock everybody out.
      await file.sync();
      await Deno.rename(beside, path);
    } catch (error) {
      await Deno.remove(beside).catch(() => {
        // The file was not made, or has been renamed already.
      });
      throw error;
    }
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound || error instanceof Deno.errors.PermissionDenied)) throw error;
    throw refusal(`cannot change --tokens ${quoted(path)}: ${printable(error.message)}`, error);
  }
}
