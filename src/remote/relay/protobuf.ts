/**
 * The part of the protobuf wire format that the relay needs: varints, lengths, and skipping what is not known. Strict: a
 * number that does not fit, a length beyond the end and a group (which proto3 does not have) are malformed.
 */

export const WIRE_TYPE = { varint: 0, fixed64: 1, length: 2, fixed32: 5 } as const;

/** The bytes are not a protobuf message, or not the expected one. */
export class MalformedMessage extends Error {
  override readonly name = "MalformedMessage";
}

/** The longest varint: ten groups of seven bits. */
const MAX_VARINT_BYTES = 10;
const MAX_UINT32 = 0xffff_ffff;

/** Reads the fields of one message from its bytes, in order. */
export class FieldReader {
  readonly #bytes: Uint8Array<ArrayBuffer>;
  #at = 0;

  constructor(bytes: Uint8Array<ArrayBuffer>) {
    this.#bytes = bytes;
  }

  /** The next field's number and wire type; null at the end. */
  next(): { readonly field: number; readonly wireType: number } | null {
    if (this.#at === this.#bytes.length) return null;
    const tag = this.uint32();
    const field = tag >>> 3;
    if (field === 0) throw new MalformedMessage("field number is 0");
    return { field, wireType: tag & 7 };
  }

  /** A number of at most 32 bits. */
  uint32(): number {
    let value = 0;
    let scale = 1;
    for (let count = 0; count < MAX_VARINT_BYTES; count++) {
      const byte = this.#bytes[this.#at++];
      if (byte === undefined) throw new MalformedMessage("number is cut off");
      value += (byte & 0x7f) * scale;
      if (value > MAX_UINT32) throw new MalformedMessage("number has more than 32 bits");
      if (byte < 0x80) return value;
      scale *= 128;
    }
    throw new MalformedMessage("number is too long");
  }

  /** The bytes of a field with a length. They are lent: they lie in the message. */
  bytes(): Uint8Array<ArrayBuffer> {
    const length = this.uint32();
    const end = this.#at + length;
    if (end > this.#bytes.length) throw new MalformedMessage("field is cut off");
    const value = this.#bytes.subarray(this.#at, end);
    this.#at = end;
    return value;
  }

  /** Skips an unknown field. */
  skip(wireType: number): void {
    switch (wireType) {
      case WIRE_TYPE.varint:
        return this.#skipVarint();
      case WIRE_TYPE.fixed64:
        return this.#skipBytes(8);
      case WIRE_TYPE.length:
        this.bytes();
        return;
      case WIRE_TYPE.fixed32:
        return this.#skipBytes(4);
      default:
        throw new MalformedMessage(`wire type ${wireType} is not in use`);
    }
  }

  /** A number in an unknown field may have 64 bits. */
  #skipVarint(): void {
    for (let count = 0; count < MAX_VARINT_BYTES; count++) {
      const byte = this.#bytes[this.#at++];
      if (byte === undefined) throw new MalformedMessage("number is cut off");
      if (byte < 0x80) return;
    }
    throw new MalformedMessage("number is too long");
  }

  #skipBytes(count: number): void {
    this.#at += count;
    if (this.#at > this.#bytes.length) throw new MalformedMessage("field is cut off");
  }
}

export function varintBytes(value: number): number {
  let bytes = 1;
  for (let rest = value; rest > 0x7f; rest = Math.floor(rest / 128)) bytes++;
  return bytes;
}

/** Writes fields one after the other into an array that is long enough. */
export class FieldWriter {
  readonly #target: Uint8Array<ArrayBuffer>;
  #at: number;

  constructor(target: Uint8Array<ArrayBuffer>, at = 0) {
    this.#target = target;
    this.#at = at;
  }

  get end(): number {
    return this.#at;
  }

  /** Field numbers below 16, whose tag is one byte. */
  tag(field: number, wireType: number): void {
    this.#target[this.#at++] = (field << 3) | wireType;
  }

  varint(value: number): void {
    let rest = value;
    for (; rest > 0x7f; rest = Math.floor(rest / 128)) this.#target[this.#at++] = (rest & 0x7f) | 0x80;
    this.#target[this.#at++] = rest;
  }

  /** Proto3 leaves out zeros. */
  uint32(field: number, value: number): void {
    if (value === 0) return;
    this.tag(field, WIRE_TYPE.varint);
    this.varint(value);
  }

  bytes(field: number, value: Uint8Array): void {
    this.tag(field, WIRE_TYPE.length);
    this.varint(value.length);
    this.#target.set(value, this.#at);
    this.#at += value.length;
  }
}
