/** Arrays of bytes. */

/** One after the other, in an array of their own. */
export function concatBytes(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** Bytes that are fetched while they are passed on. Whoever has a source reads it and closes it. */
export interface ByteSource {
  /** How many bytes there are. Fewer may come, when they have become fewer meanwhile; never more. */
  readonly length: number;
  /** How many of them it keeps in memory until then. */
  readonly heldBytes: number;
  /** The next bytes, lent until the next call; their number is a multiple of 3 but for the last. Null at the end. */
  next(): Promise<Uint8Array | null>;
  /** Nothing more is wanted. Idempotent. */
  close(): void;
}

/** Pieces that are in memory already and are let go one by one. They belong to the source from now on. */
export function sourceOf(pieces: Uint8Array[]): ByteSource {
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
  return {
    length,
    heldBytes: length,
    next: () => Promise.resolve(pieces.shift() ?? null),
    close: () => void (pieces.length = 0),
  };
}
