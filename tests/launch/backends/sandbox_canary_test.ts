import assert from "node:assert/strict";
import type { Enforcement } from "../../../src/launch/confine.ts";
import { DenoHostTree } from "../../../src/launch/policy/deno_host_tree.ts";
import { landlockPlan, MIN_LANDLOCK_ABI } from "../../../src/launch/backends/landlock.ts";
import type { LaunchPlan } from "../../../src/launch/launch_plan.ts";
import { RealPlaceholderFiles } from "../../../src/launch/policy/placeholder_files.ts";
import { type CanaryHost, runCanary } from "../../../src/launch/backends/sandbox_canary.ts";
import { HostKernelMounts } from "../../../src/launch/kernel_mounts.ts";
import { ARCHITECTURE, IS_ROOT, landlockAbi, landlockHost, runPlan } from "../run_plan.ts";
import { sandboxTest, TOOL } from "../sandboxed.ts";

class RealHost implements CanaryHost {
  readonly architecture = ARCHITECTURE;
  readonly isRoot = IS_ROOT;
  readonly tree = new DenoHostTree();
  readonly placeholders = new RealPlaceholderFiles();
  readonly kernelMounts = new HostKernelMounts();
  readonly made: string[] = [];

  async makeDirectory(): Promise<string> {
    const path = await Deno.realPath(await Deno.makeTempDir());
    this.made.push(path);
    return path;
  }

  removeDirectory(path: string): Promise<void> {
    return Deno.remove(path, { recursive: true });
  }

  makeEmptyDirectory(path: string): Promise<void> {
    return Deno.mkdir(path);
  }

  launch(plan: LaunchPlan): ReturnType<CanaryHost["launch"]> {
    return runPlan(plan);
  }
}

const exists = (path: string) => Deno.stat(path).then(() => true, () => false);

sandboxTest("runCanary() finds bubblewrap working, and cleans up", async () => {
  const host = new RealHost();
  assert.equal(await runCanary({ type: "bubblewrap", tool: TOOL! }, host), null);
  assert.equal(await exists(host.made[0]!), false);
});

sandboxTest("runCanary() notices when nothing holds the process back", async () => {
  const bubblewrap: Enforcement = { type: "bubblewrap", tool: TOOL! };
  /** The canary's own command, run by something else. */
  const commandOf = (plan: LaunchPlan): LaunchPlan => {
    const stub = plan.argv.indexOf("/dev/.launch");
    return { ...plan, program: plan.argv[stub + 1]!, argv: plan.argv.slice(stub + 2), descriptors: [] };
  };
  const free = new RealHost();
  free.launch = async (plan) => ({ ...await runPlan(commandOf(plan)), report: { type: "executed" } });
  assert.equal(await runCanary(bubblewrap, free), "a confined process was able to write where it must not");

  const lying = new RealHost();
  lying.launch = async (plan) => ({ ...await runPlan(commandOf(plan)), code: 40, report: { type: "executed" } });
  assert.equal(await runCanary(bubblewrap, lying), "a confined process was able to write where it must not");

  const idle = new RealHost();
  idle.launch = () => Promise.resolve({ code: 40, stderr: "", report: { type: "executed" } });
  assert.equal(await runCanary(bubblewrap, idle), "a confined process was not able to write where it may");

  const unfiltered = new RealHost();
  unfiltered.launch = (plan) => {
    // An empty filter is none at all.
    const descriptors = plan.descriptors.map((planned) =>
      planned.fd === 3 && planned.type === "bytes" ? { ...planned, bytes: withoutFilter(planned.bytes) } : planned
    );
    return runPlan({ ...plan, descriptors });
  };
  assert.equal(await runCanary(bubblewrap, unfiltered), "a confined process runs without the system call filter");
});

function withoutFilter(args: Uint8Array): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(new TextDecoder().decode(args).replace("--seccomp\0" + "4\0", ""));
}

sandboxTest("runCanary() passes on why the sandbox could not be made", async () => {
  const host = new RealHost();
  host.launch = () =>
    Promise.resolve({
      code: 1,
      stderr: "bwrap: No permissions to create new namespace, likely because the kernel does not allow it.\n",
      report: { type: "notConfined", failure: "set up the sandbox", errno: null },
    });
  const reason = await runCanary({ type: "bubblewrap", tool: TOOL! }, host);
  assert.match(
    reason!,
    /^cannot set up the sandbox: bwrap: No permissions to create new namespace.*: this user may not/,
  );
  assert.equal(await exists(host.made[0]!), false);

  const broken = new RealHost();
  const tool = { ...TOOL!, path: "/bin/false" };
  assert.equal(await runCanary({ type: "bubblewrap", tool }, broken), "cannot set up the sandbox");
});

const abi = Deno.build.os === "linux" ? landlockAbi() : 0;
Deno.test({
  name: `runCanary() finds Landlock working${abi < MIN_LANDLOCK_ABI ? ` (SKIPPED: Landlock version ${abi})` : ""}`,
  ignore: abi < MIN_LANDLOCK_ABI,
  async fn() {
    const files = { base: "read", rules: [], missing: [], pinned: [], links: [] } as const;
    const plan = landlockPlan({ files, network: "restricted" }, landlockHost());
    assert.ok(plan.type === "ruleset");
    assert.equal(await runCanary({ type: "landlock", ruleset: plan.ruleset }, new RealHost()), null);
  },
});
