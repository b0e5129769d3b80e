/** Bytes as text and lines. A character that is divided between two chunks is put together again. */

/** Lines of a stream of bytes, without their ends (`\n` or `\r\n`). A last line without an end counts. */
export async function* linesOf(stream: AsyncIterable<Uint8Array>): AsyncGenerator<string, void, undefined> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const bytes of stream) {
    const text = decoder.decode(bytes, { stream: true });
    const end = text.lastIndexOf("\n");
    if (end === -1) {
      rest += text;
      continue;
    }
    const lines = (rest + text.slice(0, end)).split("\n");
    rest = text.slice(end + 1);
    for (const line of lines) yield withoutReturn(line);
  }
  rest += decoder.decode();
  if (rest !== "") yield withoutReturn(rest);
}

function withoutReturn(line: string): string {
  return line.endsWith("\r") ? line.slice(0, -1) : line;
}

/** A byte that continues a character. */
const isContinuation = (byte: number | undefined) => byte !== undefined && (byte & 0xc0) === 0x80;

/** How many bytes the character has that begins with this byte; 1 if no character does. */
function characterLength(byte: number): number {
  if (byte >= 0xf0 && byte < 0xf8) return 4;
  if (byte >= 0xe0) return byte < 0xf0 ? 3 : 1;
  return byte >= 0xc2 ? 2 : 1;
}

/** Without an incomplete character at the end. */
export function withoutCutEnd(bytes: Uint8Array): Uint8Array {
  let start = bytes.length - 1;
  while (start >= 0 && start > bytes.length - 4 && isContinuation(bytes[start])) start--;
  if (start < 0) return bytes;
  const isCut = start + characterLength(bytes[start]!) > bytes.length;
  return isCut ? bytes.subarray(0, start) : bytes;
}

/** Without an incomplete character at the beginning. */
export function withoutCutStart(bytes: Uint8Array): Uint8Array {
  let start = 0;
  while (start < 3 && isContinuation(bytes[start])) start++;
  return bytes.subarray(start);
}
