/**
 * What a file carries besides content, mode and owner, for a new file that takes its place: its access control list and
 * the attributes users have given it.
 *
 * The list matters most: with one the mode's group bits do not say what the group may do, so a mode kept without its
 * list would let others in, and so would a list that the directory gives to all new files. Attributes of the system's
 * own (labels, capabilities) are not copied: the kernel gives a new file those that are right for it.
 */

import { type DomainError, invalidRequest } from "../errors.ts";
import { type ByteString, lossyText } from "../os/byte_string.ts";
import { describeErrno, ENODATA, EOPNOTSUPP } from "../os/errno.ts";
import { attributeNames, readAttribute, removeAttribute, writeAttribute } from "../os/extended_attributes.ts";
import { must } from "./map_error.ts";

const ACCESS_LIST = "system.posix_acl_access" as ByteString;
const OF_USERS = "user.";

/** Throws when something cannot be kept: the new file is not to take the old one's place then. */
export function keepAttributes(from: number, to: number): void {
  const found = attributeNames(from);
  const names = found === -EOPNOTSUPP ? [] : must(found);
  for (const name of names) {
    if (name !== ACCESS_LIST && !name.startsWith(OF_USERS)) continue;
    const value = readAttribute(from, name);
    if (value === -ENODATA) continue;
    const failure = writeAttribute(to, name, must(value));
    if (failure < 0) throw cannotKeep(name, failure);
  }
  if (names.includes(ACCESS_LIST)) return;
  const removed = removeAttribute(to, ACCESS_LIST);
  if (removed !== -ENODATA && removed !== -EOPNOTSUPP) must(removed);
}

/** In a sandbox a list may name users that do not exist there. */
function cannotKeep(name: ByteString, failure: number): DomainError {
  const what = name === ACCESS_LIST ? "its access control list" : `its attribute ${lossyText(name)}`;
  return invalidRequest(`Cannot write atomically: the file would lose ${what}: ${describeErrno(-failure)}`);
}
