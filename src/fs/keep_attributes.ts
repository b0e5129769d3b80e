/**
 * What a file has besides content, mode and owner: its access control list and users' attributes. A new file that
 * replaces it must get them too.
 *
 * The list matters most. A file with a list uses the mode's group bits differently, so keeping the mode without the
 * list would let others in. A default list of the directory would do the same. Attributes of the system (labels,
 * capabilities) are not copied: the kernel gives a new file the right ones.
 */

import { type DomainError, invalidRequest } from "../errors.ts";
import { type ByteString, lossyText } from "../os/files/byte_string.ts";
import { describeErrno, ENODATA, EOPNOTSUPP } from "../os/errno.ts";
import { attributeNames, readAttribute, removeAttribute, writeAttribute } from "../os/files/extended_attributes.ts";
import { must } from "./map_error.ts";

const ACCESS_LIST = "system.posix_acl_access" as ByteString;
const OF_USERS = "user.";

/** Throws when something cannot be kept. Then the new file must not replace the old one. */
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
