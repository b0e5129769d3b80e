/**
 * Absolute, normalised paths as bytes, the form the kernel takes, and conversions to and from the rest of the program.
 */

import { type ByteString, fromByteString, toByteString } from "../os/files/byte_string.ts";
import { type NativePath, toFileUri } from "../path_uri.ts";

export const ROOT = "/" as ByteString;

export function toBytePath(path: NativePath): ByteString {
  return toByteString(path);
}

export function toNativePath(path: ByteString): NativePath {
  return fromByteString(path);
}

const NEEDS_NO_ENCODING = /^[\w\-.~!$&'()*+,;=/]*$/;

export function uriOf(path: ByteString): string {
  return NEEDS_NO_ENCODING.test(path) ? `file://${path}` : toFileUri(fromByteString(path));
}

export function joinBytePath(directory: ByteString, name: ByteString): ByteString {
  return (directory.endsWith("/") ? directory + name : `${directory}/${name}`) as ByteString;
}

/** The directory a path lies in; the root's is the root. */
export function parentBytePath(path: ByteString): ByteString {
  return (path.slice(0, path.lastIndexOf("/")) || ROOT) as ByteString;
}

/** The last component; empty for the root. */
export function lastByteName(path: ByteString): ByteString {
  return path.slice(path.lastIndexOf("/") + 1) as ByteString;
}

/** From the root down; empty for the root itself. */
export function componentsOf(path: ByteString): ByteString[] {
  return path.split("/").filter((component) => component !== "") as ByteString[];
}
