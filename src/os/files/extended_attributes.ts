/**
 * Extended attributes of open files, including access control lists. Results follow the kernel: what was asked for, or
 * minus the error number. EOPNOTSUPP where the filesystem has none, ENODATA for a missing one.
 */

import { type ByteString, byteStringOf, writeCString } from "./byte_string.ts";
import { ENAMETOOLONG } from "../errno.ts";
import { fileSymbols, firstPath, settle } from "./file_symbols.ts";
import { allocate, type CBuffer } from "../libc.ts";

/** The kernel's limit for the length of a value, and for all names of a file together. */
const MAX_ATTRIBUTE_BYTES = 64 * 1024;

/** For what the kernel writes back; made when it is first needed, which is seldom. */
let answer: CBuffer | undefined;

/** The names of a file's attributes. */
export function attributeNames(fd: number): ByteString[] | number {
  answer ??= allocate(MAX_ATTRIBUTE_BYTES);
  const into = answer;
  const { flistxattr } = fileSymbols();
  const length = settle(() => flistxattr(fd, into, BigInt(into.length)));
  if (length < 0) return length;
  const names = byteStringOf(into.subarray(0, length)).split("\0") as ByteString[];
  return names.filter((name) => name !== "");
}

export function readAttribute(fd: number, name: ByteString): CBuffer | number {
  if (!writeCString(name, firstPath)) return -ENAMETOOLONG;
  answer ??= allocate(MAX_ATTRIBUTE_BYTES);
  const into = answer;
  const { fgetxattr } = fileSymbols();
  const length = settle(() => fgetxattr(fd, firstPath, into, BigInt(into.length)));
  return length < 0 ? length : into.slice(0, length);
}

/** Gives it this value, whether it was there or not. */
export function writeAttribute(fd: number, name: ByteString, value: CBuffer): number {
  if (!writeCString(name, firstPath)) return -ENAMETOOLONG;
  const { fsetxattr } = fileSymbols();
  return settle(() => fsetxattr(fd, firstPath, value, BigInt(value.length), 0));
}

export function removeAttribute(fd: number, name: ByteString): number {
  if (!writeCString(name, firstPath)) return -ENAMETOOLONG;
  const { fremovexattr } = fileSymbols();
  return settle(() => fremovexattr(fd, firstPath));
}
