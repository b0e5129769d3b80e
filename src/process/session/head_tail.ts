/**
 * The beginning and the end of one stream of bytes, in bounded memory.
 *
 * The first half of the capacity is kept for good, the second half is a ring of the latest bytes. Both grow with what
 * arrives, so a silent stream costs nothing. Bytes may be counted without being kept, for a stream whose end is kept
 * somewhere else.
 */

export interface HeadTailText {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Bytes are missing between the beginning and the end, which are joined without a mark. */
  readonly truncated: boolean;
}

const EMPTY = new Uint8Array(0);
/** First allocation: most commands print less, and doubling gets to a mebibyte in ten steps. */
const MIN_ALLOCATION_BYTES = 1024;

export class HeadTail {
  readonly #capacity: number;
  readonly #headCapacity: number;
  readonly #tailCapacity: number;
  #head: Uint8Array<ArrayBuffer> = EMPTY;
  #headLength = 0;
  /** Starts to wrap around only when it has reached its capacity. */
  #ring: Uint8Array<ArrayBuffer> = EMPTY;
  #ringStart = 0;
  #ringLength = 0;
  #totalBytes = 0;

  constructor(capacityBytes: number) {
    this.#capacity = capacityBytes;
    this.#headCapacity = Math.ceil(capacityBytes / 2);
    this.#tailCapacity = Math.floor(capacityBytes / 2);
  }

  get keptBytes(): number {
    return this.#headLength + this.#ringLength;
  }

  /** Memory held, which may be more than the bytes kept. */
  get allocatedBytes(): number {
    return this.#head.length + this.#ring.length;
  }

  get tailCapacity(): number {
    return this.#tailCapacity;
  }

  append(bytes: Uint8Array): void {
    const rest = this.#appendToHead(bytes);
    if (rest.length > 0) this.#appendToRing(rest);
  }

  /** The same for bytes that will be followed by at least `tailCapacity` more: the present end is no longer needed. */
  appendWithoutTail(bytes: Uint8Array): void {
    this.#appendToHead(bytes);
    this.#ring = EMPTY;
    this.#ringStart = 0;
    this.#ringLength = 0;
  }

  /** A copy that can be appended to. */
  clone(): HeadTail {
    const copy = new HeadTail(this.#capacity);
    copy.#head = this.#head.slice();
    copy.#headLength = this.#headLength;
    copy.#ring = this.#ring.slice();
    copy.#ringStart = this.#ringStart;
    copy.#ringLength = this.#ringLength;
    copy.#totalBytes = this.#totalBytes;
    return copy;
  }

  /** Frees memory that was allocated ahead. */
  trim(): void {
    if (this.#headLength < this.#head.length) this.#head = this.#head.slice(0, this.#headLength);
    // A ring that has begun to wrap is full.
    if (this.#ringStart === 0 && this.#ringLength < this.#ring.length) {
      this.#ring = this.#ring.slice(0, this.#ringLength);
    }
  }

  /** Beginning and end, together no more than `maxBytes`. */
  text(maxBytes: number): HeadTailText {
    const kept = new Uint8Array(this.keptBytes);
    kept.set(this.#head.subarray(0, this.#headLength));
    const unwrapped = Math.min(this.#ringLength, this.#ring.length - this.#ringStart);
    kept.set(this.#ring.subarray(this.#ringStart, this.#ringStart + unwrapped), this.#headLength);
    kept.set(this.#ring.subarray(0, this.#ringLength - unwrapped), this.#headLength + unwrapped);
    if (kept.length <= maxBytes) return { bytes: kept, truncated: this.#totalBytes > kept.length };

    const fromEnd = Math.floor(maxBytes / 2);
    const bytes = new Uint8Array(maxBytes);
    bytes.set(kept.subarray(0, maxBytes - fromEnd));
    bytes.set(kept.subarray(kept.length - fromEnd), maxBytes - fromEnd);
    return { bytes, truncated: true };
  }

  /** Returns what comes after the beginning. */
  #appendToHead(bytes: Uint8Array): Uint8Array {
    this.#totalBytes += bytes.length;
    const forHead = Math.min(bytes.length, this.#headCapacity - this.#headLength);
    if (forHead > 0) {
      this.#head = grown(this.#head, this.#headLength, this.#headLength + forHead, this.#headCapacity);
      this.#head.set(bytes.subarray(0, forHead), this.#headLength);
      this.#headLength += forHead;
    }
    return bytes.subarray(forHead);
  }

  #appendToRing(bytes: Uint8Array): void {
    const capacity = this.#tailCapacity;
    if (capacity === 0) return;
    const latest = bytes.length > capacity ? bytes.subarray(bytes.length - capacity) : bytes;
    this.#ring = grown(this.#ring, this.#ringLength, Math.min(this.#ringLength + latest.length, capacity), capacity);

    const size = this.#ring.length;
    const at = (this.#ringStart + this.#ringLength) % size;
    const untilEnd = Math.min(latest.length, size - at);
    this.#ring.set(latest.subarray(0, untilEnd), at);
    this.#ring.set(latest.subarray(untilEnd), 0);

    const overwritten = Math.max(0, this.#ringLength + latest.length - size);
    this.#ringStart = (this.#ringStart + overwritten) % size;
    this.#ringLength += latest.length - overwritten;
  }
}

/** A buffer with room for `needed` bytes that begins with the used ones: the same one when it suffices. */
function grown(
  buffer: Uint8Array<ArrayBuffer>,
  used: number,
  needed: number,
  capacity: number,
): Uint8Array<ArrayBuffer> {
  if (needed <= buffer.length) return buffer;
  const larger = new Uint8Array(Math.min(capacity, Math.max(needed, buffer.length * 2, MIN_ALLOCATION_BYTES)));
  larger.set(buffer.subarray(0, used));
  return larger;
}
