/** The types by which the parts of the rendezvous describe who requests what. */

import type { DoorRequest } from "../../transport/door/door.ts";
import type { TokenEntry } from "../../transport/tokens/token_file.ts";

export type Request = DoorRequest<null>;

/** A peer whose token allows what it requests. */
export interface Caller {
  readonly entry: TokenEntry;
  readonly address: string;
}

/** The fields of every audit line about it. */
export function auditFields(executor: string, { entry, address }: Caller) {
  return { executor, token: entry.name, address };
}
