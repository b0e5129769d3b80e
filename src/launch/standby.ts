/**
 * Which sandboxes can be made before their command is known, and how to tell that one made earlier is what would be made
 * now.
 *
 * Only those that do not depend on what lies where on the disk: everything can be read, nothing can be written and
 * nothing is hidden. They put nothing on the disk, and no file that appears, moves or is removed could make a difference.
 * What remains is the host's mounts and the plan itself. So two are the same if their plans are, down to the last byte,
 * and the host has mounted and unmounted nothing in between.
 */

import type { MountEntry } from "../os/files/mount_table.ts";
import type { LaunchPlan, PreparedLaunch } from "./launch_plan.ts";
import type { Policy } from "./policy/policy.ts";
import type { RequestedFiles } from "./policy/policy_entries.ts";
import type { StubReport } from "./stub/launch_stub.ts";

export interface Standby {
  /** The plan as a text. */
  readonly key: string;
  /** The host's mounts when it was planned: the same array for as long as nothing has changed. */
  readonly mounts: readonly MountEntry[];
  /** What would run in it, as `late_command.ts` writes it. */
  readonly command: Uint8Array<ArrayBuffer>;
  /** A launch without a command. */
  prepare(): Promise<PreparedLaunch>;
  /** To be told when a launch was carried out: it waits for its command. */
  made(): void;
  /** To be told when a launch could not be carried out; what the stub reported, if it came that far. */
  failed(error: unknown, report: StubReport | null): void;
}

/** Whether a sandbox that was made for the one can be used for the other. */
export function isSameSandbox(one: Standby, other: Standby): boolean {
  return one.mounts === other.mounts && one.key === other.key;
}

/** Whether something is to be hidden, if only it were there. */
export function hides({ entries, globs }: RequestedFiles): boolean {
  return globs.length > 0 || entries.some(({ access }) => access === "deny");
}

export function dependsOnDisk({ files }: Policy): boolean {
  if (files === "unrestricted" || files.base !== "read") return true;
  return [files.rules, files.missing, files.pinned, files.links].some((list) => list.length > 0);
}

const decoder = new TextDecoder("latin1");

/** Everything that a plan says. */
export function planKey(plan: LaunchPlan): string {
  return JSON.stringify(plan, (_, value) => value instanceof Uint8Array ? decoder.decode(value) : value);
}
