/**
 * Turns a command and a policy into a launch plan, with the backend chosen for the policy.
 *
 * The one place that knows all backends. It also checks, before anything starts, for failures that would otherwise show
 * only inside: a directory or program that the sandbox hides, or a directory that cannot be entered.
 */

import { DomainError, internalError } from "../errors.ts";
import { type BubblewrapTool, planBubblewrap } from "./backends/bubblewrap.ts";
import { type FollowedPath, followPath, type HostTree } from "./policy/host_tree.ts";
import type { KernelMounts } from "./kernel_mounts.ts";
import { type LandlockRuleset, planStub } from "./backends/landlock.ts";
import type { ConfinedCommand, LaunchPlan, PreparedLaunch } from "./launch_plan.ts";
import { holdPlaceholders, type LeftoverList, type PlaceholderFiles } from "./policy/placeholders.ts";
import { accessTo, type Policy } from "./policy/policy.ts";
import { describeErrno, EACCES, ELOOP, ENOENT, ENOTDIR } from "../os/errno.ts";
import type { Architecture } from "./stub/syscalls.ts";
import { isWithin, joinPath } from "../text_path.ts";

/** How a policy is enforced. */
export type Enforcement =
  /** There is nothing to enforce. */
  | { readonly type: "none" }
  | { readonly type: "bubblewrap"; readonly tool: BubblewrapTool }
  | { readonly type: "landlock"; readonly ruleset: LandlockRuleset };

export interface ConfineOptions {
  readonly enforcement: Enforcement;
  readonly architecture: Architecture;
  /** Whether the server, and so its child, is root. */
  readonly isRoot: boolean;
  readonly placeholders: PlaceholderFiles;
  readonly kernelMounts: KernelMounts;
  /** Told of placeholders before they are made. */
  readonly leftovers?: LeftoverList | undefined;
  /** Whether refused network calls are recorded, where the kernel can do that. */
  readonly reportsDenials?: boolean;
  /** Whether the one who starts the plan decides every execution of a program. */
  readonly asksBeforeExec?: boolean;
  /** Whether it is told from inside how the command ends, where that is possible. */
  readonly tellsEnd?: boolean;
  /** Processes and threads inside at a time, where the sandbox can count them. */
  readonly maxProcesses?: number | undefined;
}

/**
 * Makes the plan, and what it needs on the host. Null: there is nothing to enforce, and the command runs as without a
 * sandbox.
 *
 * @throws {PathAppearedError} when the disk has changed since the policy was made: make the policy again
 */
export function prepareLaunch(
  command: ConfinedCommand,
  policy: Policy,
  options: ConfineOptions,
): PreparedLaunch | null {
  const { enforcement, architecture, isRoot, reportsDenials = false, asksBeforeExec = false } = options;
  const { network, files } = policy;
  const withoutTraces = (plan: LaunchPlan): PreparedLaunch => ({ plan, policy, release: () => {} });
  switch (enforcement.type) {
    case "none":
      return null;
    case "landlock":
      return withoutTraces(
        planStub(command, {
          architecture,
          network,
          isRoot,
          reportsDenials,
          asksBeforeExec,
          ruleset: enforcement.ruleset,
        }),
      );
    case "bubblewrap": {
      const { kernelMounts, placeholders, leftovers, tellsEnd = false, maxProcesses } = options;
      const { tool } = enforcement;
      const asked = { reportsDenials, asksBeforeExec, tellsEnd, maxProcesses };
      const planOptions = { tool, architecture, isRoot, kernelMounts, ...asked };
      if (files === "unrestricted") return withoutTraces(planBubblewrap(command, policy, planOptions));
      const lease = holdPlaceholders(files.missing, placeholders, leftovers);
      try {
        const held = { network, files: { ...files, missing: lease.held } };
        return { plan: planBubblewrap(command, held, planOptions), policy, release: lease.release };
      } catch (error) {
        lease.release();
        throw error;
      }
    }
  }
}

/** What a client wants to run, with its program looked up. */
export interface WantedCommand extends Omit<ConfinedCommand, "program"> {
  /** Absolute paths that the program may mean, best first. */
  readonly candidates: readonly string[];
}

/** Always visible inside, whatever the policy. */
const ALWAYS_VISIBLE = ["/dev", "/proc"];

/** The command as it can run under a policy. Throws when its program or directory cannot be used there. */
export function visibleCommand(wanted: WantedCommand, policy: Policy, tree: HostTree): ConfinedCommand {
  const { candidates, ...command } = wanted;
  const { files } = policy;
  /** Of a path without links. */
  const isShown = (path: string): boolean => {
    if (files === "unrestricted") return true;
    const access = accessTo(files, path);
    return access === "read" || access === "write" || ALWAYS_VISIBLE.some((place) => isWithin(path, place));
  };
  const isVisible = (path: string): boolean => {
    if (files === "unrestricted") return true;
    const found = followPath(tree, path);
    return found.type === "found" && isShown(found.path);
  };
  const { cwd } = command;
  const place = followPath(tree, cwd);
  // Clients compare the same texts as without a sandbox: for the command there is no such directory or program.
  if (place.type === "missing") throw refusal(ENOENT, `there is no working directory ${cwd}`);
  if (!isShown(place.type === "found" ? place.path : place.obstacle)) {
    throw internalError(
      `Cannot start process: the sandbox hides its working directory ${cwd}: ${describeErrno(ENOENT)}`,
    );
  }
  const errno = whyNotEntered(place, tree);
  if (errno !== null) throw refusal(errno, `the working directory ${cwd} cannot be entered`);
  const program = candidates.find(isVisible);
  if (program === undefined) {
    throw refusal(ENOENT, `there is no program ${JSON.stringify(wanted.argv[0])} in the sandbox`);
  }
  return { ...command, program };
}

/** What the system says to whoever tries to make this the working directory; null when nothing. */
function whyNotEntered(place: Exclude<FollowedPath, { readonly type: "missing" }>, tree: HostTree): number | null {
  const entry = place.type === "found" ? place.entry : tree.look(place.obstacle);
  if (typeof entry === "string") return EACCES;
  if (entry.type === "symlink") return ELOOP;
  if (entry.type !== "directory") return ENOTDIR;
  // To look at anything in a directory, even at itself, takes the permission that entering it takes.
  const isOpen = place.type === "found" && tree.look(joinPath(place.path, ".")) !== "blocked";
  return isOpen ? null : EACCES;
}

function refusal(errno: number, detail: string): DomainError {
  return new DomainError("internal", describeErrno(errno), { detail });
}
