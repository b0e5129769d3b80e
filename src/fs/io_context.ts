/** What every operation on files of the operating system shares. */

import { type Clock, systemClock } from "../clock.ts";
import { BlockingCalls } from "./blocking_calls.ts";
import { type Pacer, sharedPacer } from "../os/loop/pacer.ts";

export interface IoContext {
  /** Shares the event loop's time among operations that take longer than a moment. */
  readonly pacer: Pacer;
  /** For calls that may wait for a device. */
  readonly blocking: BlockingCalls;
  readonly clock: Clock;
  /** Opens with fewer rights than this program has. Returns what `open` returns, or throws. */
  readonly guardOpen?: OpenGuard;
}

/** Makes the call that opens something. Returns a descriptor, or minus the error number. */
export type OpenGuard = (open: () => number) => number;

export function createIoContext(clock: Clock = systemClock): IoContext {
  return { pacer: sharedPacer(), blocking: new BlockingCalls(), clock };
}
