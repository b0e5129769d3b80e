/** One stream of a process as a web stream of bytes, text or lines. */

import { concatBytes } from "../../bytes.ts";
import { linesOf } from "./text.ts";

/**
 * Output of a process: a `ReadableStream` of bytes with `text()`, `lines()` and `bytes()`. If the reader stops, the
 * process waits once the buffers on the way are full. Nothing is lost.
 *
 * ```ts
 * const child = await box.spawn(["seq", "3"]);
 * const output: OutputStream = child.stdout;
 * for await (const line of output.lines()) console.log(line);
 * ```
 */
export class OutputStream extends ReadableStream<Uint8Array<ArrayBuffer>> {
  /** All of it, decoded as UTF-8. */
  async text(): Promise<string> {
    return new TextDecoder().decode(await this.bytes());
  }

  /** All of it. */
  async bytes(): Promise<Uint8Array<ArrayBuffer>> {
    const parts: Uint8Array[] = [];
    const reader = this.getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return concatBytes(parts);
      parts.push(value);
    }
  }

  /** Line by line, as UTF-8, without the ends of the lines. */
  lines(): AsyncGenerator<string, void, undefined> {
    return linesOf(chunksOf(this));
  }
}

/** The chunks of a stream. Not every browser can iterate over streams. Leaving the loop cancels the stream. */
export async function* chunksOf<Chunk>(stream: ReadableStream<Chunk>): AsyncGenerator<Chunk, void, undefined> {
  const reader = stream.getReader();
  let isDone = false;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      isDone = done;
      if (done) return;
      yield value;
    }
  } catch (error) {
    isDone = true;
    throw error;
  } finally {
    if (!isDone) await reader.cancel().catch(() => {});
    reader.releaseLock();
  }
}
