/** What `fs/copy` refuses, whichever implementation is asked. The texts are the reference's. */

import { type DomainError, invalidRequest } from "../errors.ts";

/** A device, a socket or a pipe. */
export function isSpecial(): DomainError {
  return invalidRequest("fs/copy only supports regular files, directories, and symlinks");
}

export function needsRecursive(): DomainError {
  return invalidRequest("fs/copy requires recursive: true when sourcePath is a directory");
}

export function isInsideItself(): DomainError {
  return invalidRequest("fs/copy cannot copy a directory to itself or one of its descendants");
}
