/** Writes bytes to a stream of this program, unchanged and completely. */

import { writeFully } from "../../bytes.ts";

/** False: nobody reads any more. */
export async function writeAll(
  to: { write(bytes: Uint8Array): Promise<number> },
  bytes: Uint8Array,
): Promise<boolean> {
  try {
    await writeFully(to, bytes);
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.BrokenPipe) return false;
    throw error;
  }
}
