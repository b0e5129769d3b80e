/**
 * Base64 as on the wire: standard, padded, nothing else.
 *
 * If a message is mostly one long base64 string, `rpc/envelope.ts` decodes that string before it parses the rest. The
 * member then holds the bytes in place of their text, and schemas take either.
 */

import type { MethodName, MethodTypes } from "./method_types.ts";

/** What a member with content holds: its text, or the bytes of a long one. JSON itself has no bytes. */
export type Base64Content = string | Uint8Array<ArrayBuffer>;

/** The requests with content, and the member that holds it. */
export const CONTENT_MEMBERS: { readonly [Name in MethodName]?: MemberOf<MethodTypes[Name]["params"]> } = {
  "process/write": "chunk",
  "fs/writeBlock": "chunk",
  "fs/writeFile": "dataBase64",
  "net/write": "chunk",
  "http/request": "bodyBase64",
};

type MemberOf<Params> = Params extends object ? keyof Params & string : never;

const contentNames: ReadonlySet<string> = new Set(Object.values(CONTENT_MEMBERS));

/** How the envelope treats long content of requests. */
export const LONG_CONTENT = {
  isContent: (member: string): boolean => contentNames.has(member),
  decode: decodeBase64,
};

/** Bytes of content; null when its text is not strict base64. */
export function contentBytes(content: Base64Content): Uint8Array<ArrayBuffer> | null {
  return typeof content === "string" ? decodeBase64(content) : content;
}

/**
 * Bytes of strict base64; null when it is anything else.
 *
 * The runtime's decoder skips white space, which is not allowed here. Without it every four characters give three bytes
 * less the padding, so comparing lengths finds any skipped character without a second look at the text.
 */
export function decodeBase64(text: string): Uint8Array<ArrayBuffer> | null {
  const padding = text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0;
  try {
    const bytes = Uint8Array.fromBase64(text, { lastChunkHandling: "strict" });
    return bytes.length === (text.length / 4) * 3 - padding ? bytes : null;
  } catch {
    return null; // The decoder's own text is no better than the one the schemas give.
  }
}
