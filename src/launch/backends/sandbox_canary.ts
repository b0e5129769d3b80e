/**
 * The canary: one small confined process that tries what it may do and what it may not, on the real host.
 *
 * It runs with the full arguments of a real launch. So anything that would keep a real process from being confined (no
 * user namespaces, a masked /proc, a kernel without the filter) shows here first, with a reason.
 */

import { type Enforcement, prepareLaunch } from "../confine.ts";
import { followPath, type HostTree } from "../policy/host_tree.ts";
import type { KernelMounts } from "../kernel_mounts.ts";
import type { LaunchPlan } from "../launch_plan.ts";
import type { StubReport } from "../stub/launch_stub.ts";
import type { PlaceholderFiles } from "../policy/placeholders.ts";
import type { Policy } from "../policy/policy.ts";
import { resolveFiles } from "../policy/policy_resolve.ts";
import type { Architecture } from "../stub/syscalls.ts";

export interface CanaryHost {
  readonly architecture: Architecture;
  readonly isRoot: boolean;
  readonly tree: HostTree;
  readonly placeholders: PlaceholderFiles;
  readonly kernelMounts: KernelMounts;
  /** A new directory; `removeDirectory` removes it. */
  makeDirectory(): Promise<string>;
  removeDirectory(path: string): Promise<void>;
  makeEmptyDirectory(path: string): Promise<void>;
  /** Resolves when nothing inside runs any more. */
  launch(plan: LaunchPlan): Promise<{ code: number; stderr: string; report: StubReport }>;
}

/** Exit codes that no shell uses. */
const CAGED = 40;
const FINDINGS: Readonly<Record<number, string>> = {
  41: "a confined process was not able to write where it may",
  42: "a confined process was able to write where it must not",
  43: "a confined process runs without the system call filter",
};

/** Only builtins: the canary needs nothing but a shell. */
const SCRIPT = `
(echo inside > "$1") 2>/dev/null || exit 41
(echo outside > "$2") 2>/dev/null && exit 42
while read -r name value; do
  case "$name$value" in Seccomp:2) exit ${CAGED} ;; esac
done < /proc/self/status
exit 43
`;

/** Null when the process was confined as it should be, otherwise what was wrong. */
export async function runCanary(enforcement: Enforcement, host: CanaryHost): Promise<string | null> {
  const directory = await host.makeDirectory();
  try {
    const inside = `${directory}/inside`;
    const outside = `${directory}/outside`;
    await host.makeEmptyDirectory(inside);
    await host.makeEmptyDirectory(outside);
    // Landlock is not used for policies with a writable directory, so it is tested with a writable device.
    const hasRoot = enforcement.type === "bubblewrap";
    const entries = [
      { path: "/", access: "read" as const },
      ...(hasRoot ? [{ path: inside, access: "write" as const }] : []),
    ];
    const policy: Policy = {
      files: resolveFiles({ entries, globs: [], globScanMaxDepth: null }, [], host.tree),
      network: "restricted",
    };
    const argv = ["sh", "-c", SCRIPT, "sh", hasRoot ? `${inside}/file` : "/dev/null", `${outside}/file`];
    const command = { program: "/bin/sh", argv, env: {}, cwd: "/" };
    const { architecture, isRoot, placeholders, kernelMounts } = host;
    // Denials are not requested: the stub's own filter for them could be mistaken for the one the wrapper must install.
    const launch = prepareLaunch(command, policy, {
      enforcement,
      architecture,
      isRoot,
      placeholders,
      kernelMounts,
    });
    if (launch === null) return "nothing was confined";
    const { code, stderr, report } = await host.launch(launch.plan).finally(launch.release);
    if (report.type !== "executed") return describeFailure(report, stderr);
    if (code !== CAGED) return FINDINGS[code] ?? `the test process ended with code ${code}`;
    // The process may be wrong about itself; the disk is not.
    if (followPath(host.tree, `${outside}/file`).type !== "missing") return FINDINGS[42]!;
    if (hasRoot && followPath(host.tree, `${inside}/file`).type !== "found") return FINDINGS[41]!;
    return null;
  } finally {
    await host.removeDirectory(directory);
  }
}

/** As much of a wrapper's error text as fits into one message. */
const MAX_COMPLAINT_CHARACTERS = 300;

/** The usual cause of an error text, and what to do about it. */
const HINTS: readonly (readonly [RegExp, string])[] = [
  [
    /namespace|uid map|setting up uid/i,
    "this user may not create user namespaces (see kernel.unprivileged_userns_clone, user.max_user_namespaces and " +
    "kernel.apparmor_restrict_unprivileged_userns)",
  ],
  [/mount proc/i, "/proc is masked, as containers do it (start the container with an unmasked /proc)"],
];

function describeFailure(report: Exclude<StubReport, { type: "executed" }>, stderr: string): string {
  const complaint = stderr.trim().slice(0, MAX_COMPLAINT_CHARACTERS);
  const hint = HINTS.find(([pattern]) => pattern.test(complaint))?.[1];
  const action = report.type === "notExecuted" ? "execute /bin/sh" : report.failure;
  const number = report.errno === null ? "" : ` (os error ${report.errno})`;
  return [`cannot ${action}${number}`, complaint, hint].filter((part) => part !== undefined && part !== "").join(": ");
}
