/**
 * The frames between the wrapper of a patched Bash and its server: a length of four bytes, little-endian, and JSON.
 * Descriptors travel with the first bytes of a frame. Both sides use this.
 */

import { closeDescriptor } from "../../os/descriptor.ts";
import { receiveDescriptors } from "../../os/loop/socket_message.ts";
import type { ByteString } from "../../os/files/byte_string.ts";
import { allocate } from "../../os/libc.ts";

/**
 * Both tell the wrapper the number of its socket. One is the protocol's; the second is ours, because the Bash that
 * knows this protocol sometimes empties one entry of a program's environment, but never more than one.
 */
export const SOCKET_VARIABLES = ["CODEX_ESCALATE_SOCKET", "EXEC_SERVER_ESCALATE_SOCKET"] as const;

const LENGTH_BYTES = 4;

/** Arguments and environment have at most 6 MiB, and JSON may write a byte with six characters. */
const MAX_FRAME_BYTES = 40 * 1024 * 1024;

/** How much is read at once. */
const READ_BYTES = 64 * 1024;

/**
 * A member of a question that only our own wrapper sends, and only where something is not UTF-8: the same once more, as
 * byte strings. A server that does not know it sees replacement characters.
 */
export interface ExactWords {
  readonly file: ByteString;
  readonly argv: readonly ByteString[];
  /** Entries of the form `NAME=VALUE`. */
  readonly env: readonly ByteString[];
}

export class FrameFormatError extends Error {
  override readonly name = "FrameFormatError";
}

export function encodeFrame(message: unknown): Uint8Array<ArrayBuffer> {
  const body = new TextEncoder().encode(JSON.stringify(message));
  const frame = allocate(LENGTH_BYTES + body.length);
  new DataView(frame.buffer).setUint32(0, body.length, true);
  frame.set(body, LENGTH_BYTES);
  return frame;
}

export interface Frame {
  readonly message: unknown;
  /** The receiver owns them. */
  readonly descriptors: readonly number[];
}

/** Takes what comes through a socket, in any pieces, and gives whole frames. */
export class FrameAssembler {
  #bytes = new Uint8Array(0);
  #descriptors: number[] = [];
  readonly #into = allocate(READ_BYTES);

  /** Reads once, without waiting. `ended`: nothing more will come. */
  readFrom(socket: number): "read" | "nothing" | "ended" {
    const { count, descriptors } = receiveDescriptors(socket, this.#into);
    this.#descriptors.push(...descriptors);
    if (count <= 0) return count === 0 ? "ended" : "nothing";
    const joined = new Uint8Array(this.#bytes.length + count);
    joined.set(this.#bytes);
    joined.set(this.#into.subarray(0, count), this.#bytes.length);
    this.#bytes = joined;
    return "read";
  }

  /** The next whole frame; null when there is none yet. */
  next(): Frame | null {
    if (this.#bytes.length < LENGTH_BYTES) return null;
    const length = new DataView(this.#bytes.buffer, this.#bytes.byteOffset).getUint32(0, true);
    if (length > MAX_FRAME_BYTES) throw new FrameFormatError(`a frame of ${length} bytes`);
    if (this.#bytes.length < LENGTH_BYTES + length) return null;
    const body = this.#bytes.subarray(LENGTH_BYTES, LENGTH_BYTES + length);
    this.#bytes = this.#bytes.slice(LENGTH_BYTES + length);
    const descriptors = this.#descriptors;
    this.#descriptors = [];
    try {
      return { message: JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body)), descriptors };
    } catch {
      descriptors.forEach(closeDescriptor);
      throw new FrameFormatError("a frame that is not JSON");
    }
  }

  /** Closes descriptors that belong to no frame. */
  close(): void {
    this.#descriptors.splice(0).forEach(closeDescriptor);
  }
}
