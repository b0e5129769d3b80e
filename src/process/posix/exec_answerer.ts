/** Decides what a confined child and its descendants may execute. */

import type { PreparedLaunch } from "../../launch/launch_plan.ts";
import type { CallAnswerer } from "./supervised_calls.ts";

export interface ExecAnswerer extends CallAnswerer {
  /**
   * The child is about to run, confined like this. The first call that follows is our own: it makes the child the
   * command.
   */
  begins(policy: PreparedLaunch["policy"]): void;
}
