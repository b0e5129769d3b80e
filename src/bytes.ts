/** Arrays of bytes. */

/** Bytes in memory that no other thread can change, as the calls of the runtime want them. */
export type Bytes = Uint8Array<ArrayBuffer>;

/** One after the other, in an array of their own. */
export function concatBytes(parts: readonly Uint8Array[]): Bytes {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** Writes all of it to something that may take only a part at a time. */
export async function writeFully(
  to: { write(bytes: Uint8Array): Promise<number> },
  bytes: Uint8Array,
): Promise<void> {
  for (let written = 0; written < bytes.length;) written += await to.write(bytes.subarray(written));
}

/** Bytes that are fetched while they are passed on. The owner of a source reads it and closes it. */
export interface ByteSource {
  /** How many bytes there are. Fewer may come if the source has shrunk meanwhile; never more. */
  readonly length: number;
  /** How many of them it keeps in memory until then. */
  readonly heldBytes: number;
  /** The next bytes, lent until the next call; their number is a multiple of 3, except at the end. Null at the end. */
  next(): Promise<Uint8Array | null>;
  /** Nothing more is wanted. Idempotent. */
  close(): void;
}

/** Pieces that are already in memory and are released one by one. They now belong to the source. */
export function sourceOf(pieces: Uint8Array[]): ByteSource {
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
  return {
    length,
    heldBytes: length,
    next: () => Promise.resolve(pieces.shift() ?? null),
    close: () => void (pieces.length = 0),
  };
}

/** Multiples of 3, so that each can be encoded to base64 by itself. */
const MIN_PIECE_BYTES = 3 * 1024;
const MAX_PIECE_BYTES = 192 * 1024;

/**
 * Collects bytes that arrive in parts of any length, in about as much memory as they have.
 *
 * Parts are copied one after the other into common pieces, because an array of its own costs each some hundred bytes.
 * Empty ones leave nothing behind. Others decide how much may come.
 */
export class GatheredBytes {
  #pieces: Uint8Array<ArrayBuffer>[] = [];
  /** How much of the last piece is filled. All others are full. */
  #filled = 0;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** Copies the part. */
  add(part: Uint8Array): void {
    for (let at = 0; at < part.length;) {
      const piece = this.#pieceWithRoom();
      const end = Math.min(part.length, at + piece.length - this.#filled);
      piece.set(at === 0 && end === part.length ? part : part.subarray(at, end), this.#filled);
      this.#filled += end - at;
      this.#length += end - at;
      at = end;
    }
  }

  /** All of them in pieces whose lengths are multiples of 3, except the last; nothing is left here. */
  takePieces(): Uint8Array<ArrayBuffer>[] {
    const pieces = this.#pieces;
    if (pieces.length > 0) pieces.push(pieces.pop()!.subarray(0, this.#filled));
    this.clear();
    return pieces;
  }

  /** All of them as one; none are left here. */
  take(): Uint8Array<ArrayBuffer> {
    const pieces = this.takePieces();
    return pieces.length === 1 ? pieces[0]! : concatBytes(pieces);
  }

  clear(): void {
    this.#pieces = [];
    this.#filled = 0;
    this.#length = 0;
  }

  #pieceWithRoom(): Uint8Array<ArrayBuffer> {
    const last = this.#pieces.at(-1);
    if (last !== undefined && this.#filled < last.length) return last;
    // As large as everything before it, so that small amounts cost little.
    const wanted = Math.min(Math.max(this.#length, MIN_PIECE_BYTES), MAX_PIECE_BYTES);
    const piece = new Uint8Array(wanted - wanted % 3);
    this.#pieces.push(piece);
    this.#filled = 0;
    return piece;
  }
}
