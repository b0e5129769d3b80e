/**
 * From a command and a policy to a launch plan, by the backend that was chosen for the policy.
 *
 * The one place that knows all backends. Also checks, before anything is started, what would otherwise only show as a
 * failure inside: a directory or a program that the sandbox hides.
 */

import { internalError } from "../errors.ts";
import { type BubblewrapTool, planBubblewrap } from "./bubblewrap.ts";
import { followPath, type HostTree, isWithin } from "./host_tree.ts";
import { type LandlockRuleset, planStub } from "./landlock.ts";
import type { ConfinedCommand, LaunchPlan } from "./launch_plan.ts";
import { holdPlaceholders, type LeftoverList, type PlaceholderFiles } from "./placeholders.ts";
import { accessTo, type Policy } from "./policy.ts";
import { planSeatbelt } from "./seatbelt.ts";
import type { Architecture } from "./syscalls.ts";

/** How a policy is enforced. */
export type Enforcement =
  /** There is nothing to enforce. */
  | { readonly type: "none" }
  /** The system call filter alone: for policies that confine nothing but the network. */
  | { readonly type: "seccomp" }
  | { readonly type: "bubblewrap"; readonly tool: BubblewrapTool }
  | { readonly type: "landlock"; readonly ruleset: LandlockRuleset }
  | { readonly type: "seatbelt" };

export interface ConfineOptions {
  readonly enforcement: Enforcement;
  readonly architecture: Architecture;
  /** Whether the server, and so its child, is root. */
  readonly isRoot: boolean;
  readonly placeholders: PlaceholderFiles;
  /** Told of placeholders before they are made. */
  readonly leftovers?: LeftoverList | undefined;
  /** Whether what is refused of the network is to be told, where the kernel can do that. */
  readonly reportsDenials?: boolean;
}

export interface PreparedLaunch {
  /** Null: the command runs as it would without a sandbox. */
  readonly plan: LaunchPlan | null;
  /** To be called once nothing inside runs any more, or when nothing was started. Harmless to call twice. */
  release(): void;
}

/**
 * Makes the plan, and on the host what it needs.
 *
 * @throws {PathAppearedError} when the disk has changed since the policy was made: make the policy again
 */
export function prepareLaunch(command: ConfinedCommand, policy: Policy, options: ConfineOptions): PreparedLaunch {
  const { enforcement, architecture, isRoot, reportsDenials = false } = options;
  const { network, files } = policy;
  const withoutTraces = (plan: LaunchPlan | null): PreparedLaunch => ({ plan, release: () => {} });
  switch (enforcement.type) {
    case "none":
      return withoutTraces(null);
    case "seccomp":
      return withoutTraces(planStub(command, { architecture, network, isRoot, reportsDenials, ruleset: null }));
    case "landlock":
      return withoutTraces(
        planStub(command, { architecture, network, isRoot, reportsDenials, ruleset: enforcement.ruleset }),
      );
    case "seatbelt":
      return withoutTraces(planSeatbelt(command, policy));
    case "bubblewrap": {
      if (files === "unrestricted") throw new Error("bubblewrap was chosen for a policy without files");
      const lease = holdPlaceholders(files.missing, options.placeholders, options.leftovers);
      try {
        const held = { network, files: { ...files, missing: lease.held } };
        return {
          plan: planBubblewrap(command, held, { tool: enforcement.tool, architecture, isRoot, reportsDenials }),
          release: lease.release,
        };
      } catch (error) {
        lease.release();
        throw error;
      }
    }
  }
}

/** What a client wants to run, with its first word looked up. */
export interface WantedCommand extends Omit<ConfinedCommand, "program"> {
  /** Absolute paths the first word may mean, best first. */
  readonly candidates: readonly string[];
}

/** Always there inside, whatever the policy. */
const ALWAYS_VISIBLE = ["/dev", "/proc"];

/** The command as it can be run under a policy; throws when its program or directory is not to be seen there. */
export function visibleCommand(wanted: WantedCommand, policy: Policy, tree: HostTree): ConfinedCommand {
  const { candidates, ...command } = wanted;
  const isVisible = (path: string): boolean => {
    if (policy.files === "unrestricted") return true;
    const found = followPath(tree, path);
    if (found.type !== "found") return false;
    const access = accessTo(policy.files, found.path);
    return access === "read" || access === "write" || ALWAYS_VISIBLE.some((place) => isWithin(found.path, place));
  };
  if (!isVisible(command.cwd)) {
    throw internalError(`Cannot start process: the sandbox hides its working directory ${command.cwd}`);
  }
  const program = candidates.find(isVisible);
  // The same text as without a sandbox: to the command there is no such program.
  if (program === undefined) throw internalError("No such file or directory (os error 2)");
  return { ...command, program };
}
