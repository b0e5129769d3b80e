/** The probe of this host's sandboxes: what `sandbox_probe.ts` asks, answered by the real system. */

import type { Clock } from "../../clock.ts";
import { landlockVersion } from "../../os/children/landlock.ts";
import type { KernelMounts } from "../kernel_mounts.ts";
import type { DenoHostTree } from "../policy/deno_host_tree.ts";
import { RealPlaceholderFiles } from "../policy/placeholder_files.ts";
import { makeScratchDirectory } from "../scratch_directory.ts";
import { findBubblewrap, type ToolHost } from "./bubblewrap_tool.ts";
import { RealToolHost } from "./real_tool_host.ts";
import { type CanaryHost, runCanary } from "./sandbox_canary.ts";
import { SandboxProbe, type SandboxSetting } from "./sandbox_probe.ts";

export interface HostProbeOptions {
  readonly setting: SandboxSetting;
  readonly serverEnv: Readonly<Record<string, string>>;
  /** Carries a plan out and waits for its end. */
  readonly launch: CanaryHost["launch"];
  /** Runs a program unconfined, with an empty environment, and waits for its end. */
  readonly run: ToolHost["run"];
  /** The operator's own bubblewrap. */
  readonly bubblewrapPath?: string;
  readonly clock?: Clock;
}

interface ProbedHost {
  readonly tree: DenoHostTree;
  readonly isRoot: boolean;
  readonly kernelMounts: KernelMounts;
}

/** Starts nothing before it is asked. */
export function createProbe(options: HostProbeOptions, { tree, isRoot, kernelMounts }: ProbedHost): SandboxProbe {
  const { setting, serverEnv, bubblewrapPath, clock } = options;
  const canaryHost: CanaryHost = {
    architecture: Deno.build.arch,
    isRoot,
    tree,
    makeDirectory: () => makeScratchDirectory("exec-server-canary-"),
    removeDirectory: (path) => Deno.remove(path, { recursive: true }),
    makeEmptyDirectory: (path) => Deno.mkdir(path),
    placeholders: new RealPlaceholderFiles(),
    kernelMounts,
    launch: options.launch,
  };
  return new SandboxProbe({
    setting,
    ...(clock === undefined ? {} : { clock }),
    host: {
      isLinux: Deno.build.os === "linux",
      findBubblewrap: () =>
        findBubblewrap(new RealToolHost(options.run), {
          searchPath: serverEnv.PATH ?? "",
          ...(bubblewrapPath === undefined ? {} : { chosenPath: bubblewrapPath }),
        }),
      landlockAbi: () => {
        const version = landlockVersion();
        return version > 0
          ? { isAvailable: true, value: version }
          : { isAvailable: false, reason: "this kernel has no Landlock", problem: "missing" };
      },
      listTopLevel: () =>
        [...Deno.readDirSync("/")].filter(({ isSymlink }) => !isSymlink).map(({ name }) => `/${name}`),
      kernelMounts,
      canary: (enforcement) => runCanary(enforcement, canaryHost),
    },
  });
}
