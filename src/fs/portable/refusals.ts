/**
 * What the portable filesystem refuses, each naming the promise it could not keep.
 *
 * A weaker answer that looks like the usual one would be worse than none. Clients that check the capabilities first do
 * not meet most of these.
 */

import { type DomainError, invalidRequest } from "../../errors.ts";

export function cannotExcludeLinks(reason: string): DomainError {
  return invalidRequest(`Cannot honour followSymlinks: false, which only the kernel can check: ${reason}`);
}

export function cannotWriteAtomically(reason: string): DomainError {
  return invalidRequest(
    `Cannot write atomically: access control lists and attributes of the file could not be kept: ${reason}`,
  );
}

/** A directory cannot be flushed with the runtime's functions, so the new name could not be promised. */
export function cannotFlush(reason: string): DomainError {
  return invalidRequest(`Cannot promise that the new name is on the device: ${reason}`);
}

export function watchUnavailable(reason: string): DomainError {
  return invalidRequest(`Cannot watch: ${reason}`);
}

/** A path or name that the runtime cannot express. `shown` has U+FFFD for such bytes. */
export function cannotName(shown: string, reason: string): DomainError {
  return invalidRequest(`Cannot reach \`${shown}\`, whose name is not UTF-8: ${reason}`);
}

/** The runtime passes numbers as JavaScript numbers. */
export function cannotTellInode(reason: string): DomainError {
  return invalidRequest(`Cannot report the inode, whose number has more than 53 bits: ${reason}`);
}

/** A file or directory was replaced between the look at it and its use. */
export function wasExchanged(path: string): DomainError {
  return invalidRequest(`Cannot copy \`${path}\`: it was replaced by something else meanwhile`);
}
