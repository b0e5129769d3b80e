/**
 * Base64 as it stands on the wire: standard, padded, nothing else in it.
 *
 * Where a message is mostly one long base64 string, `rpc/envelope.ts` decodes that string before it parses the rest, and
 * leaves the bytes here for the schema that asks for them a moment later.
 */

let decodedAhead: { readonly text: string; readonly bytes: Uint8Array<ArrayBuffer> } | null = null;

/** Bytes of strict base64; null when it is anything else. */
export function decodeBase64(text: string): Uint8Array<ArrayBuffer> | null {
  const ahead = decodedAhead;
  decodedAhead = null;
  // Comparing is cheap: it is the very same string, or one of another length.
  return ahead !== null && ahead.text === text ? ahead.bytes : decode(text);
}

/** Whether this is strict base64. If so, the next `decodeBase64` of this very text, if any, is spared its work. */
export function decodeBase64Ahead(text: string): boolean {
  const bytes = decode(text);
  decodedAhead = bytes === null ? null : { text, bytes };
  return bytes !== null;
}

/**
 * The runtime's decoder skips white space, which is not allowed here. Without it every four characters give three bytes
 * less the padding, so comparing lengths finds any skipped character without looking at the text again.
 */
function decode(text: string): Uint8Array<ArrayBuffer> | null {
  const padding = text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0;
  try {
    const bytes = Uint8Array.fromBase64(text, { lastChunkHandling: "strict" });
    return bytes.length === (text.length / 4) * 3 - padding ? bytes : null;
  } catch {
    return null; // The decoder's own text is no better than the one the schemas give.
  }
}
