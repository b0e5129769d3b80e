import assert from "node:assert/strict";
import { type KernelMounts, NO_KERNEL_MOUNTS } from "../../../src/launch/kernel_mounts.ts";
import { type LandlockHost, landlockPlan, MIN_LANDLOCK_ABI, planStub } from "../../../src/launch/backends/landlock.ts";
import type { FilePolicy, PathRule, Policy } from "../../../src/launch/policy/policy.ts";
import { ARCHITECTURE, IS_ROOT, landlockAbi, landlockHost, runPlan, shell } from "../run_plan.ts";

const rule = (access: PathRule["access"], path: string, type: PathRule["type"] = "directory"): PathRule => ({
  path,
  access,
  type,
  id: path,
});
const policy = (
  base: FilePolicy["base"],
  rules: PathRule[] = [],
  network: Policy["network"] = "restricted",
  missing: FilePolicy["missing"] = [],
): Policy => ({ files: { base, rules, missing, pinned: [], links: [] }, network });

let kernelMounts: KernelMounts = NO_KERNEL_MOUNTS;
const host = (abi: number): LandlockHost => ({ abi, topLevel: ["/usr", "/dev", "/proc", "/sys"], kernelMounts });

Deno.test("landlockPlan() takes policies that read everything and write at most single files", () => {
  const plan = landlockPlan(policy("read", [rule("write", "/ws/in", "file")]), host(7));
  assert.ok(plan.type === "ruleset");
  const { handledFileAccess, handledNetworkAccess, scoped, rules } = plan.ruleset;
  // Every right that changes something, and to read a file (4); not to execute (1) and to read a directory (8).
  assert.equal(handledFileAccess, 0xfff6);
  assert.deepEqual([handledNetworkAccess, scoped], [3, 3]);
  assert.deepEqual(rules.at(-1), { path: "/ws/in", access: 0x4006 });
  assert.deepEqual(rules[0], { path: "/usr", access: 0x4 });
  assert.ok(rules.some(({ path }) => path === "/dev/null"));
  assert.ok(!rules.some(({ path }) => path === "/dev" || path.startsWith("/dev/pts")));
  const online = landlockPlan(policy("read", [], "enabled"), host(7));
  assert.ok(online.type === "ruleset");
  assert.deepEqual([online.ruleset.handledNetworkAccess, online.ruleset.scoped], [0, 2]);
});

Deno.test("landlockPlan() leaves the files of a policy that confines none, but not the kernel's settings", () => {
  const free: Policy = { files: "unrestricted", network: "restricted" };
  const plan = landlockPlan(free, host(7));
  assert.ok(plan.type === "ruleset");
  assert.deepEqual(plan.ruleset.rules.map(({ path }) => path), ["/usr", "/dev"]);
  const mounts = [{ path: "/proc", kind: "procfs" }, { path: "/srv/proc", kind: "procfs" }] as const;
  kernelMounts = { ...NO_KERNEL_MOUNTS, list: () => mounts, shapeOf: () => "directory" };
  try {
    const refused = landlockPlan(free, host(7));
    assert.ok(refused.type === "inexpressible");
    assert.match(refused.reason, /cannot protect \/srv\/proc while the rest of the disk is writable/);
  } finally {
    kernelMounts = NO_KERNEL_MOUNTS;
  }
});

Deno.test("landlockPlan() says why it cannot express anything else", () => {
  const missing = [{ path: "/ws/.git", placeholder: "directory" as const, isHidden: false }];
  const table: [Policy, number, RegExp][] = [
    [policy("read"), MIN_LANDLOCK_ABI - 1, /version 5, which cannot keep signals inside/],
    [policy("hidden", [rule("read", "/ws")]), 7, /look absent/],
    [policy("write", [rule("read", "/ws")]), 7, /whole disk/],
    [policy("read", [rule("deny", "/out")]), 7, /cannot hide \/out/],
    [
      policy("read", [rule("write", "/ws"), rule("read", "/ws/.git")]),
      7,
      /protect \/ws\/\.git inside the writable \/ws/,
    ],
    [policy("read", [rule("write", "/ws")], "enabled", missing), 7, /protect \/ws\/\.git inside the writable \/ws/],
    [policy("read", [rule("write", "/ws")]), 7, /protect anything inside the writable \/ws/],
  ];
  for (const [wanted, abi, reason] of table) {
    const plan = landlockPlan(wanted, host(abi));
    assert.ok(plan.type === "inexpressible");
    assert.match(plan.reason, reason);
  }
});

const abi = Deno.build.os === "linux" ? landlockAbi() : 0;
const isUsable = abi >= MIN_LANDLOCK_ABI;

function landlockTest(name: string, fn: (root: string) => Promise<void>): void {
  Deno.test({
    name: isUsable ? name : `${name} (SKIPPED: Landlock version ${abi}, needs ${MIN_LANDLOCK_ABI})`,
    ignore: !isUsable,
    async fn() {
      const root = await Deno.realPath(await Deno.makeTempDir());
      try {
        await fn(root);
      } finally {
        await Deno.remove(root, { recursive: true });
      }
    },
  });
}

async function run(wanted: Policy, script: string, cwd: string) {
  const plan = landlockPlan(wanted, landlockHost());
  assert.ok(plan.type === "ruleset");
  const { network } = wanted;
  return await runPlan(
    planStub(shell(script, cwd), { architecture: ARCHITECTURE, network, ruleset: plan.ruleset, isRoot: IS_ROOT }),
  );
}

landlockTest("a process bound by Landlock reads everything and changes nothing", async (root) => {
  await Deno.writeTextFile(`${root}/f`, "content");
  await Deno.mkdir(`${root}/d`);
  const before = JSON.stringify([
    Deno.statSync(`${root}/f`),
    [...Deno.readDirSync(root)].map(({ name }) => name).sort(),
  ]);
  const attempts = [
    "echo x > new",
    "echo x > f",
    ": >> f",
    "rm f",
    "mkdir n",
    "rmdir d",
    "mv f g",
    "ln f g",
    "ln -s f g",
    "mkfifo p",
    "chmod 777 f",
    "touch -d 2001-01-01 f",
    "chown 12345 f",
    "truncate -s 0 f",
    `kill -0 ${Deno.pid}`,
    `cat /proc/${Deno.pid}/environ`,
    `ls /proc/${Deno.pid}/root/`,
    "echo x > /dev/shm/landlock-test",
  ];
  const script = attempts.map((attempt) => `(${attempt}) >/dev/null 2>&1 && echo "WORKED: ${attempt}"`).join("\n");
  const { stdout, code, report } = await run(
    policy("read"),
    `cat f; echo x > /dev/null && echo; ${script}\nexit 0`,
    root,
  );
  assert.deepEqual({ stdout, code, report }, { stdout: "content\n", code: 0, report: { type: "executed" } });
  // Reading changes the access time.
  const after = JSON.stringify([
    Deno.statSync(`${root}/f`),
    [...Deno.readDirSync(root)].map(({ name }) => name).sort(),
  ]);
  const withoutAccessTime = (text: string) => text.replace(/"atime":"[^"]*"/, "");
  assert.equal(withoutAccessTime(after), withoutAccessTime(before));
});

landlockTest("a process bound by Landlock may write a single file that it is granted", async (root) => {
  await Deno.writeTextFile(`${root}/f`, "old content");
  const wanted = policy("read", [rule("write", `${root}/f`, "file")]);
  const { stdout, stderr } = await run(
    wanted,
    "echo new > f; cat f; (echo x > g) 2>/dev/null || echo refused; rm f",
    root,
  );
  assert.equal(stdout, "new\nrefused\n");
  assert.match(stderr, /^rm: cannot remove 'f'/);
  assert.equal(await Deno.readTextFile(`${root}/f`), "new\n");
});

landlockTest("children of a process bound by Landlock are bound as well", async (root) => {
  const script =
    "(setsid sh -c '(sleep 0; echo x > a)') 2>/dev/null; sh -c 'exec sh -c \"echo x > b\"' 2>/dev/null; ls";
  const { stdout } = await run(policy("read"), script, root);
  assert.equal(stdout, "");
});
