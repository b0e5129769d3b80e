/** A sandbox that the launch stub makes by itself, as a plan, and whether this machine lets it. */

import type { LaunchPlan } from "../../src/launch/launch_plan.ts";
import { launchStub } from "../../src/launch/stub/launch_stub.ts";
import type { NamespaceOptions } from "../../src/launch/stub/namespace_steps.ts";
import { seccompProgram } from "../../src/launch/stub/seccomp.ts";
import { NO_WATCH } from "../support/supervised_scene.ts";
import { runPlan } from "./run_plan.ts";

/** A shell command in it. */
export function ownSandboxPlan(script: string, options: Partial<NamespaceOptions> = {}): LaunchPlan {
  const architecture = "x86_64";
  const namespaces = {
    uid: Deno.uid()!,
    gid: Deno.gid()!,
    ownsNetwork: true,
    firstFreeDescriptor: 5,
    seccomp: seccompProgram({ architecture, network: "restricted" }),
    ...options,
  };
  const bytes = launchStub({ architecture, reportDescriptor: 3, closeOnExec: [4], namespaces });
  return {
    program: "/proc/self/fd/4",
    argv: ["launch", "/bin/sh", "sh", "-c", script],
    env: { PATH: "/usr/bin:/bin" },
    cwd: "/",
    descriptors: [{ fd: 3, type: "report" }, { fd: 4, type: "bytes", bytes }],
    blockedSignals: [],
  };
}

/** Why there can be none here; null when there can. Some systems let only bubblewrap make namespaces. */
export const NO_OWN_SANDBOX: string | null = NO_WATCH ?? await whyNot();

async function whyNot(): Promise<string | null> {
  const { report } = await runPlan(ownSandboxPlan("exit 0"));
  return report.type === "notConfined" ? `the stub cannot ${report.failure}` : null;
}
