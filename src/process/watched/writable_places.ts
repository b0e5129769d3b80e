/**
 * Every place that a sandbox of this program was ever allowed to write.
 *
 * Sandboxes change from call to call. What one call could write, and a later one cannot, is still what somebody inside
 * may have written. So such places are never trusted again while the program runs.
 */

import { accessTo, type Policy } from "../../launch/policy/policy.ts";
import { isWithin } from "../../text_path.ts";

/** How many places are remembered for all sandboxes together. Beyond this no place is trusted any more. */
const MAX_PLACES = 4096;

export class WritablePlaces {
  readonly #roots = new Set<string>();

  note(policy: Policy | undefined): void {
    if (policy === undefined || policy.files === "unrestricted") return;
    const { base, rules } = policy.files;
    if (base === "write") this.#roots.add("/");
    for (const { path, access } of rules) if (access === "write") this.#roots.add(path);
    if (this.#roots.size > MAX_PLACES) this.#roots.add("/");
  }

  /** Whether somebody inside, now or before, may have written what lies there. */
  include(path: string, policy: Policy): boolean {
    if (policy.files !== "unrestricted" && accessTo(policy.files, path) === "write") return true;
    for (const root of this.#roots) if (isWithin(path, root)) return true;
    return false;
  }
}
