/**
 * Names and paths as the kernel has them: any bytes but NUL.
 *
 * A byte string is a JavaScript string in which every character stands for one byte. Names that are not UTF-8 survive
 * in it, joining is `+`, comparing it compares bytes, and for the usual ASCII name it is the text itself. It never
 * leaves the program: at the edges it becomes text, bytes or a URI.
 */

declare const eachCharacterIsOneByte: unique symbol;
export type ByteString = string & { readonly [eachCharacterIsOneByte]: true };

const BEYOND_ASCII = /[\u0080-\uffff]/;

const encoder = new TextEncoder();

/** Text is taken as UTF-8. */
export function toByteString(text: string | Uint8Array): ByteString {
  if (typeof text === "string" && !BEYOND_ASCII.test(text)) return text as ByteString;
  return byteStringOf(typeof text === "string" ? encoder.encode(text) : text);
}

export function byteStringOf(bytes: Uint8Array): ByteString {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return text as ByteString;
}

/** The text when the bytes are UTF-8, otherwise the bytes. */
export function fromByteString(bytes: ByteString): string | Uint8Array<ArrayBuffer> {
  if (!BEYOND_ASCII.test(bytes)) return bytes;
  const raw = bytesOf(bytes);
  try {
    // A byte order mark is part of a file's name, not of an encoding.
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(raw);
  } catch {
    return raw; // Not UTF-8: the caller gets the bytes.
  }
}

/** Text for people and for fields that have no room for bytes: what is not UTF-8 becomes U+FFFD. */
export function lossyText(bytes: ByteString): string {
  if (!BEYOND_ASCII.test(bytes)) return bytes;
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytesOf(bytes));
}

/** A NUL-terminated copy at the start of `into`; false when it does not fit. */
export function writeCString(bytes: ByteString, into: Uint8Array): boolean {
  const { length } = bytes;
  if (length >= into.length) return false;
  for (let at = 0; at < length; at++) into[at] = bytes.charCodeAt(at);
  into[length] = 0;
  return true;
}

export function bytesOf(bytes: ByteString): Uint8Array<ArrayBuffer> {
  const raw = new Uint8Array(bytes.length);
  for (let at = 0; at < raw.length; at++) raw[at] = bytes.charCodeAt(at);
  return raw;
}
