/**
 * The operating system's refusals as domain errors: the one place that says which error number is of which kind.
 */

import { DomainError, type ErrorKind, internalError, invalidRequest } from "../errors.ts";
import { type ByteString, lossyText } from "../os/byte_string.ts";
import { describeErrno, EACCES, EINVAL, ELOOP, EMFILE, ENOENT, ENOSPC, EPERM } from "../os/errno.ts";
import { MAX_READ_FILE_BYTES } from "./limits.ts";

/** A failed system call, told in the words of the system: `No such file or directory (os error 2)`. */
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

/** Hands on the result of a file call, or throws what its error number means. */
export function must(result: number): number;
export function must<Value>(result: Value | number): Value;
export function must(result: unknown): unknown {
  if (typeof result === "number" && result < 0) throw new OsError(-result);
  return result;
}

/** For what can only be done with a regular file. The text is the reference's. */
export function notAFile(path: ByteString): DomainError {
  return invalidRequest(`path \`${lossyText(path)}\` is not a file`);
}

/** The text is the reference's. */
export function tooLarge(): DomainError {
  return invalidRequest(`file is too large to read: limit is ${MAX_READ_FILE_BYTES} bytes`);
}

/** A link that was forbidden and is the last component of a path. The text is the reference's. */
export function isALink(): DomainError {
  return invalidRequest("path contains a symbolic link");
}

/** A link that was forbidden, found while resolving a path. Of the kind the reference gives it. */
export function crossesALink(): DomainError {
  return internalError(`path contains a symbolic link (os error ${ELOOP})`);
}

/** A watch that cannot be had. What the system says of its own limits would be taken for a full disk otherwise. */
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
