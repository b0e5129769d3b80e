/** How many connections there may be at once. */

import { getLimit, RLIMIT_NOFILE } from "../../os/children/resource_limits.ts";
import {
  CONNECTIONS_PER_DESCRIPTOR,
  MAX_CONNECTIONS,
  MAX_WAITING_CONNECTIONS,
  WAITING_CONNECTIONS_PER_DESCRIPTOR,
} from "../../protocol/limits.ts";

/** How many connections may wait and be served: our own bounds, or less if there are few descriptors. */
export function connectionLimits(): { waiting: number; served: number } {
  // The soft limit is raised to the hard one when the first child is started.
  const descriptors = maxDescriptors();
  return {
    waiting: Math.max(
      1,
      Math.min(MAX_WAITING_CONNECTIONS, Math.floor(descriptors * WAITING_CONNECTIONS_PER_DESCRIPTOR)),
    ),
    served: Math.max(1, Math.min(MAX_CONNECTIONS, Math.floor(descriptors * CONNECTIONS_PER_DESCRIPTOR))),
  };
}

function maxDescriptors(): number {
  try {
    return Number(getLimit(RLIMIT_NOFILE)?.hard ?? Infinity);
  } catch {
    return Infinity; // Without the C library the number is not known: our own bounds hold.
  }
}
