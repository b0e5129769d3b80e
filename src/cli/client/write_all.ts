/** Bytes to a stream of this program, without losing or changing any. */

/** False: nobody reads any more. */
export async function writeAll(
  to: { write(bytes: Uint8Array): Promise<number> },
  bytes: Uint8Array,
): Promise<boolean> {
  try {
    for (let written = 0; written < bytes.length;) written += await to.write(bytes.subarray(written));
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.BrokenPipe) return false;
    throw error;
  }
}
