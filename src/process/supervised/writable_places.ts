/**
 * Every place that a sandbox of this program was ever allowed to write.
 *
 * Sandboxes change from call to call. What one call could write, and a later one cannot, is still what somebody inside
 * may have written. So such places are never trusted again while the program runs, by whatever name they are reached.
 */

import { accessTo, type Policy } from "../../launch/policy/policy.ts";
import type { MountEntry } from "../../os/files/mount_table.ts";
import { isWithin } from "../../text_path.ts";
import { currentMounts, placeOf, placesBelow } from "./filesystem_places.ts";

/** How many places are remembered for all sandboxes together. Beyond this no place is trusted any more. */
const MAX_PLACES = 4096;

export class WritablePlaces {
  readonly #roots = new Set<string>();
  /** The same on their filesystems. What has been unmounted stays. */
  readonly #places = new Set<string>();
  #mounts: readonly MountEntry[] | null = null;
  #leftFilesFree = false;

  /** A call without a sandbox has no policy: it has already done outside whatever it wanted to. */
  note(policy: Policy | undefined): void {
    if (policy === undefined) return;
    if (policy.files === "unrestricted") {
      this.#leftFilesFree = true;
      return;
    }
    const { base, rules } = policy.files;
    const roots = rules.filter(({ access }) => access === "write").map(({ path }) => path);
    if (base === "write") roots.push("/");
    for (const root of roots) if (!this.#roots.has(root)) this.#add(root);
    this.#limit();
  }

  /** Whether somebody inside, now or before, may have written what lies at this path without links. */
  include(path: string, policy: Policy): boolean {
    if (policy.files !== "unrestricted" && accessTo(policy.files, path) === "write") return true;
    for (const root of this.#roots) if (isWithin(path, root)) return true;
    const mounts = this.#lookForMounts();
    const own = mounts === null ? null : placeOf(path, mounts);
    // What lies nowhere that is known may lie anywhere.
    if (own === null) return true;
    for (const place of this.#places) if (isWithin(own, place)) return true;
    return false;
  }

  /** Whether somebody inside, now or before, may have written whatever our user can write. */
  includeAllOfOurs(policy: Policy): boolean {
    return this.#leftFilesFree || policy.files === "unrestricted";
  }

  #add(root: string): void {
    this.#roots.add(root);
    for (const place of placesBelow(root, this.#lookForMounts() ?? [])) this.#places.add(place);
  }

  /** What has been mounted in a writable place meanwhile can be written too. */
  #lookForMounts(): readonly MountEntry[] | null {
    const mounts = currentMounts();
    if (mounts === null || mounts === this.#mounts) return mounts;
    this.#mounts = mounts;
    for (const root of this.#roots) for (const place of placesBelow(root, mounts)) this.#places.add(place);
    this.#limit();
    return mounts;
  }

  #limit(): void {
    if (this.#roots.size > MAX_PLACES || this.#places.size > MAX_PLACES) this.#roots.add("/");
  }
}
