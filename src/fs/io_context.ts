/** What every operation on the operating system's files shares. */

import { type Clock, systemClock } from "../clock.ts";
import { BlockingLane } from "./blocking_lane.ts";
import { Pacer } from "./pacer.ts";

export interface IoContext {
  /** Who works when: for operations that take longer than a moment. */
  readonly pacer: Pacer;
  /** For calls that may wait for a device. */
  readonly lane: BlockingLane;
  readonly clock: Clock;
}

export function createIoContext(clock: Clock = systemClock): IoContext {
  return { pacer: new Pacer(), lane: new BlockingLane(), clock };
}
