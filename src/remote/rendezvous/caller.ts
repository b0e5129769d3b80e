/** Who asks for what: the terms in which the parts of the rendezvous speak of requests. */

import type { DoorRequest } from "../../transport/door/door.ts";
import type { TokenEntry } from "../../transport/tokens/token_file.ts";

export type Request = DoorRequest<null>;

/** One who has shown a token that is good for what is wished. */
export interface Caller {
  readonly entry: TokenEntry;
  readonly address: string;
}

/** What every audit line about it says. */
export function auditFields(executor: string, { entry, address }: Caller) {
  return { executor, token: entry.name, address };
}
