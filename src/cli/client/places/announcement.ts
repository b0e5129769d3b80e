/**
 * The line that `dial --announce` prints before the conversation begins. The reader skips what the profile of a login
 * shell prints before it, and learns the version of the other side from it.
 */

import { concatBytes } from "../../../bytes.ts";
import { VERSION } from "../../../version.ts";

const PREFIX = "exec-server dial ";
/** More text than this before the line cannot be a login shell's greeting. */
const MAX_NOISE_BYTES = 64 * 1024;
const NEWLINE = 0x0a;

/** With its newline. */
export const ANNOUNCEMENT = `${PREFIX}${VERSION}\n`;

export interface Announced {
  readonly version: string;
  /** The bytes after the line. */
  readonly rest: ReadableStream<Uint8Array>;
}

/** Null: the stream ended, or was too long, without the line. */
export async function readAnnouncement(stream: ReadableStream<Uint8Array>): Promise<Announced | null> {
  const reader = stream.getReader();
  let bytes = new Uint8Array();
  while (bytes.length <= MAX_NOISE_BYTES) {
    const { done, value } = await reader.read();
    if (done) return null;
    bytes = concatBytes([bytes, value]);
    for (let start = 0, end = bytes.indexOf(NEWLINE); end >= 0; start = end + 1, end = bytes.indexOf(NEWLINE, start)) {
      const line = new TextDecoder().decode(bytes.subarray(start, end));
      if (!line.startsWith(PREFIX)) continue;
      return { version: line.slice(PREFIX.length).trim(), rest: continued(bytes.subarray(end + 1), reader) };
    }
  }
  await reader.cancel();
  return null;
}

/** A stream of these bytes, followed by those of the reader. */
function continued(
  first: Uint8Array,
  reader: ReadableStreamDefaultReader<Uint8Array>,
): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>({
    start(controller) {
      if (first.length > 0) controller.enqueue(first);
    },
    async pull(controller) {
      const { done, value } = await reader.read();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: (reason) => reader.cancel(reason),
  }, { highWaterMark: 0 });
}
