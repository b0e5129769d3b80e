/**
 * `file:` URIs and native paths: the only conversion between the two.
 *
 * A string that starts with `/` is a native path taken literally; anything else must be a `file:` URI. Both are
 * normalised lexically (`.`, `..`, `//`, trailing `/`) before the operating system sees them. A name that is not
 * UTF-8 travels as bytes, so that every file of this host can be named.
 */

import { DomainError, invalidParams } from "./errors.ts";

/** An absolute path of this host; bytes only when it is not UTF-8. */
export type NativePath = string | Uint8Array<ArrayBuffer>;

export interface ParsedPath {
  readonly native: NativePath;
  /** How the peer wrote it. Some older sandbox shapes mean different things by the two. */
  readonly form: "native" | "uri";
}

/** A well-formed path of another machine: another host's file, or a drive letter. */
export class ForeignPathError extends DomainError {
  override readonly name = "ForeignPathError";

  constructor(input: string) {
    super("invalidRequest", `path is not usable on this host: ${input}`);
  }
}

/** The kernel's PATH_MAX: no call takes a path that has as many bytes. */
export const MAX_PATH_BYTES = 4096;

/** Each of a path's bytes is three characters of its URI at most. */
const MAX_WRITTEN_LENGTH = "file://localhost".length + 3 * MAX_PATH_BYTES;

/** A path that nothing on this host can have. The text is the kernel's for it. */
export class PathTooLongError extends DomainError {
  override readonly name = "PathTooLongError";

  constructor() {
    super("internal", "File name too long (os error 36)");
  }
}

const SCHEME = /^[A-Za-z][A-Za-z0-9+.-]*:/;
const FILE_SCHEME = /^file:/i;
/** Tested before decoding, so that a directory really called `C:` stays reachable as `C%3A`. */
const DRIVE_LETTER = /^\/*[A-Za-z][:|](?:\/|$)/;
const NEEDS_NORMALISING = /\/(?:\.{0,2}(?:\/|$))/;

/**
 * The path a peer means.
 *
 * @throws {DomainError} of kind "invalidParams" when it is not an absolute path
 * @throws {ForeignPathError} when it is one, but not of this host
 */
export function parsePath(input: string): ParsedPath {
  if (input.includes("\0")) throw invalidParams("path must not contain a NUL character");
  if (input.startsWith("/")) return { native: normalise(input), form: "native" };
  return { native: parseFileUri(input), form: "uri" };
}

/**
 * The same for a text of any length, as a peer may send it: to read a message full of one path takes seconds.
 *
 * @throws {PathTooLongError} besides, before it is looked at
 */
export function parsePeerPath(input: string): ParsedPath {
  if (input.length > MAX_WRITTEN_LENGTH) throw new PathTooLongError();
  return parsePath(input);
}

/** The URI of an absolute native path: every byte outside unreserved, sub-delims and `/` is percent-encoded. */
export function toFileUri(native: NativePath): string {
  const path = typeof native === "string"
    ? native.replace(/[^\w\-.~!$&'()*+,;=/]+/g, encodeURIComponent)
    : encodeBytes(native);
  return `file://${path}`;
}

function parseFileUri(input: string): NativePath {
  if (!FILE_SCHEME.test(input)) {
    throw invalidParams(
      SCHEME.test(input)
        ? `path must be a file: URI, not \`${SCHEME.exec(input)?.[0]}\``
        : "path must be absolute: a file: URI or a path that starts with `/`",
    );
  }
  if (/[?#]/.test(input)) throw invalidParams("file: URI must not have a query or a fragment");

  let path = input.slice("file:".length);
  if (path.startsWith("//")) {
    const hostEnd = path.indexOf("/", 2);
    const host = hostEnd === -1 ? path.slice(2) : path.slice(2, hostEnd);
    if (host !== "" && host.toLowerCase() !== "localhost") throw new ForeignPathError(input);
    path = hostEnd === -1 ? "/" : path.slice(hostEnd);
  }
  if (DRIVE_LETTER.test(path)) throw new ForeignPathError(input);
  if (!path.startsWith("/")) path = `/${path}`;
  if (!path.includes("%")) return normalise(path);

  const bytes = percentDecode(path);
  if (bytes.includes(0)) throw invalidParams("path must not contain a NUL character");
  const text = decodeUtf8(bytes);
  // Separators and dots are ASCII, so one character per byte is enough to find them.
  return text === null ? bytesOf(normalise(charPerByte(bytes))) : normalise(text);
}

/** `a%20b` to bytes. A `%` without two hex digits stands for itself. */
function percentDecode(text: string): Uint8Array<ArrayBuffer> {
  const encoded = new TextEncoder().encode(text);
  let length = 0;
  for (let at = 0; at < encoded.length; at++) {
    let byte = encoded[at]!;
    if (byte === 0x25) {
      const high = hexValue(encoded[at + 1]);
      const low = hexValue(encoded[at + 2]);
      if (high !== -1 && low !== -1) {
        byte = high * 16 + low;
        at += 2;
      }
    }
    encoded[length++] = byte; // Decoding only shrinks, so the text is decoded in place.
  }
  return encoded.slice(0, length);
}

function hexValue(byte: number | undefined): number {
  if (byte === undefined) return -1;
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x61 + 10 : -1;
}

/** Removes `.`, `..`, empty segments and a trailing `/`. `..` at the root stays at the root. */
function normalise(path: string): string {
  if (!NEEDS_NORMALISING.test(path)) return path;
  const kept: string[] = [];
  for (const segment of path.split("/")) {
    if (segment === "..") kept.pop();
    else if (segment !== "" && segment !== ".") kept.push(segment);
  }
  return `/${kept.join("/")}`;
}

function decodeUtf8(bytes: Uint8Array<ArrayBuffer>): string | null {
  try {
    // A byte order mark is part of a file's name, not of an encoding.
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null; // Not UTF-8: the caller keeps the bytes.
  }
}

function charPerByte(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return text;
}

function bytesOf(charPerByteText: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(charPerByteText, (char) => char.charCodeAt(0));
}

function encodeBytes(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) {
    const char = String.fromCharCode(byte);
    text += /[\w\-.~!$&'()*+,;=/]/.test(char) ? char : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  }
  return text;
}
