/**
 * A message whose content is fetched while it is sent: a file of any size passes through one small buffer.
 *
 * A frame needs the length first, before the content is known. If the content turns out shorter, because the file was
 * cut off meanwhile, it is filled up with spaces, which mean nothing after a JSON text.
 */

import type { ByteSource } from "../bytes.ts";

export class StreamedMessage {
  /** The JSON text before and after the content's base64, both ASCII. */
  readonly around: readonly [string, string];
  readonly source: ByteSource;

  constructor(before: string, source: ByteSource, after: string) {
    this.around = [before, after];
    this.source = source;
  }

  /** Bytes of the whole text. */
  get length(): number {
    return this.around[0].length + base64Length(this.source.length) + this.around[1].length;
  }

  get heldLength(): number {
    return this.around[0].length + this.source.heldBytes + this.around[1].length;
  }
}

function base64Length(bytes: number): number {
  return Math.ceil(bytes / 3) * 4;
}

const encoder = new TextEncoder();

/** Bytes encoded at once. A multiple of 3. The text of more would not fit into the processor's cache. */
const STEP_BYTES = 96 * 1024;

/**
 * Passes on the message in pieces of `buffer`, each of which may be overwritten once `write` has resolved. The first
 * `filled` bytes of the buffer leave with the first piece. Always closes the source.
 */
export async function writeStreamed(
  message: StreamedMessage,
  { buffer, filled, write }: {
    buffer: Uint8Array<ArrayBuffer>;
    filled: number;
    write: (piece: Uint8Array<ArrayBuffer>) => Promise<void>;
  },
): Promise<void> {
  let at = filled;
  let missing = message.length;
  const put = async (text: string): Promise<void> => {
    missing -= text.length;
    for (let rest = text; rest.length > 0;) {
      const { read, written } = encoder.encodeInto(rest, at === 0 ? buffer : buffer.subarray(at));
      at += written;
      rest = read === rest.length ? "" : rest.slice(read);
      if (at < buffer.length) continue;
      await write(buffer);
      at = 0;
    }
  };
  try {
    await put(message.around[0]);
    for (let bytes = await message.source.next(); bytes !== null; bytes = await message.source.next()) {
      for (let from = 0; from < bytes.length; from += STEP_BYTES) {
        await put(bytes.subarray(from, from + STEP_BYTES).toBase64());
      }
    }
    await put(message.around[1]);
    while (missing > 0) await put(" ".repeat(Math.min(missing, STEP_BYTES)));
    if (at > 0) await write(buffer.subarray(0, at));
  } finally {
    message.source.close();
  }
}
