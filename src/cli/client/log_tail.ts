/**
 * Finds the last lines of output that came in pieces. The pieces of several streams are in the order of their numbers.
 */

/** A piece of output. */
export interface LogChunk {
  readonly seq: number;
  readonly stream: "stdout" | "stderr" | "pty";
  readonly bytes: Uint8Array<ArrayBuffer>;
}

const NEWLINE = 10;

/** The pieces that hold the last `count` lines; a last line without its end counts as one. */
export function tailOf(chunks: readonly LogChunk[], count: number): LogChunk[] {
  const kept: LogChunk[] = [];
  if (count === 0) return kept;
  let lines = 0;
  let isEnd = true;
  for (let index = chunks.length - 1; index >= 0; index--) {
    const { bytes, ...rest } = chunks[index]!;
    for (let at = bytes.length - 1; at >= 0; at--) {
      // No line begins after the end of the last one.
      if (bytes[at] === NEWLINE && !isEnd && ++lines === count) {
        return [{ ...rest, bytes: bytes.slice(at + 1) }, ...kept].filter((chunk) => chunk.bytes.length > 0);
      }
      isEnd = false;
    }
    kept.unshift(chunks[index]!);
  }
  return kept;
}
