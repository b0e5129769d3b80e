/**
 * Results that are more than a value to be written as JSON: text that is already encoded, and content that is encoded
 * while it is sent. Each becomes the answer to one request, and gets the id of that request at the end.
 */

import { type ByteSource, sourceOf } from "../bytes.ts";
import type { RequestId } from "./envelope.ts";
import type { AsciiParts } from "./link.ts";
import { StreamedMessage } from "./streamed_message.ts";

/**
 * A result that is already JSON, in parts too long to be copied once more. All of it is ASCII, unless it is said not to
 * be: then the parts are joined, because a frame needs its length in bytes first. As escapes they would be two or three
 * times as long, and clients refuse frames that are too long.
 */
export class EncodedResult {
  readonly #before: string;
  readonly #content: readonly string[];
  readonly #after: string;
  readonly #isAscii: boolean;

  constructor(before: string, content: string | readonly string[], after: string, { isAscii = true } = {}) {
    this.#before = before;
    this.#content = typeof content === "string" ? [content] : content;
    this.#after = after;
    this.#isAscii = isAscii;
  }

  encode(id: RequestId): string | AsciiParts {
    const parts = [`{"id":${asciiId(id)},"result":${this.#before}`, ...this.#content, `${this.#after}}`];
    return this.#isAscii ? parts : parts.join("");
  }
}

/** From this length on, base64 is made in steps while it is sent: a long string takes longer to make than to send. */
export const LONG_CONTENT_BYTES = 96 * 1024;

/** A result that is these bytes' base64 between two ASCII texts. The bytes belong to it from now on. */
export function contentResult(before: string, bytes: Uint8Array, after: string): EncodedResult | StreamedResult {
  if (bytes.length < LONG_CONTENT_BYTES) return new EncodedResult(before, bytes.toBase64(), after);
  return new StreamedResult(before, sourceOf([bytes]), after);
}

/** A result with the base64 of bytes that are fetched while it is sent. */
export class StreamedResult {
  readonly #before: string;
  readonly #source: ByteSource;
  readonly #after: string;
  /** The request counts as running until this resolves: what it reads must not be written meanwhile. */
  readonly done: Promise<void> | undefined;

  constructor(before: string, source: ByteSource, after: string, done?: Promise<void>) {
    this.#before = before;
    this.#source = source;
    this.#after = after;
    this.done = done;
  }

  encode(id: RequestId): StreamedMessage {
    const before = `{"id":${asciiId(id)},"result":${this.#before}`;
    return new StreamedMessage(before, this.#source, `${this.#after}}`);
  }
}

/** Numbers are ASCII. */
function asciiId(id: RequestId): string {
  return id.startsWith('"') ? escapeToAscii(id) : id;
}

const BEYOND_ASCII = /[\u0080-\uffff]/;

export function isAsciiText(text: string): boolean {
  return !BEYOND_ASCII.test(text);
}

const HEX_DIGITS = new TextEncoder().encode("0123456789abcdef");
const BACKSLASH = 0x5c;
const LETTER_U = 0x75;

/**
 * JSON text with every character beyond ASCII written as its escape. Made as bytes: a text for each character would take
 * twenty times as long.
 */
export function escapeToAscii(json: string): string {
  if (isAsciiText(json)) return json;
  const bytes = new Uint8Array(escapedLength(json));
  let length = 0;
  for (let at = 0; at < json.length; at++) {
    const unit = json.charCodeAt(at);
    if (unit < 0x80) {
      bytes[length++] = unit;
      continue;
    }
    bytes[length++] = BACKSLASH;
    bytes[length++] = LETTER_U;
    for (let shift = 12; shift >= 0; shift -= 4) bytes[length++] = HEX_DIGITS[(unit >> shift) & 0xf]!;
  }
  return new TextDecoder().decode(bytes);
}

/** The length of the escaped text. */
export function escapedLength(json: string): number {
  let length = json.length;
  for (let at = 0; at < json.length; at++) if (json.charCodeAt(at) >= 0x80) length += 5;
  return length;
}
