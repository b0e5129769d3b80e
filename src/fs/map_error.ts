/** Refusals of the operating system as domain errors: the one place that says which error number is which kind. */

import { DomainError, type ErrorKind, internalError, invalidRequest } from "../errors.ts";
import { type ByteString, lossyText } from "../os/files/byte_string.ts";
import { describeErrno, EACCES, EINVAL, ELOOP, EMFILE, ENOENT, ENOSPC, EPERM } from "../os/errno.ts";
import { MAX_READ_FILE_BYTES } from "./limits.ts";

/** A failed system call, in the system's own words: `No such file or directory (os error 2)`. */
export class OsError extends DomainError {
  override readonly name = "OsError";
  readonly errno: number;

  constructor(errno: number) {
    super(kindOf(errno), describeErrno(errno));
    this.errno = errno;
  }
}

function kindOf(errno: number): ErrorKind {
  if (errno === ENOENT) return "notFound";
  if (errno === EACCES || errno === EPERM || errno === EINVAL) return "invalidRequest";
  return "internal";
}

/** Returns the result of a file call, or throws the error for its number. */
export function must(result: number): number;
export function must<Value>(result: Value | number): Value;
export function must(result: unknown): unknown {
  if (typeof result === "number" && result < 0) throw new OsError(-result);
  return result;
}

/** For operations that need a regular file. The text is the reference's. */
export function notAFile(path: ByteString): DomainError {
  return invalidRequest(`path \`${lossyText(path)}\` is not a file`);
}

/** The text is the reference's. */
export function tooLarge(): DomainError {
  return invalidRequest(`file is too large to read: limit is ${MAX_READ_FILE_BYTES} bytes`);
}

/** A forbidden link as the last component of a path. The text is the reference's. */
export function isALink(): DomainError {
  return invalidRequest("path contains a symbolic link");
}

/** A forbidden link found while resolving a path. The kind is the reference's. */
export function crossesALink(): DomainError {
  return internalError(`path contains a symbolic link (os error ${ELOOP})`);
}

/** A watch that is not possible. The system's text for its own limits would look like a full disk. */
export function cannotWatch(errno: number): DomainError {
  if (errno !== ENOSPC && errno !== EMFILE) return new OsError(errno);
  const limit = errno === ENOSPC ? "max_user_watches" : "max_user_instances or open files";
  return internalError(`Cannot watch: the system's limit is reached (${limit})`);
}

/** `ifMatch` did not hold: the file is not what the caller has read. Nothing was changed. */
export class ContentMismatchError extends DomainError {
  override readonly name = "ContentMismatchError";

  constructor(expected: string, actual: string) {
    super("invalidRequest", `Cannot write: ifMatch expects ${expected}, but the file ${actual}`);
  }
}
