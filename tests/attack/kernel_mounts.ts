/**
 * Attacks by way of what the kernel makes up, mounted where a client grants everything: the root directory of another
 * system in a workspace, as every chroot build has one.
 */

import assert from "node:assert/strict";
import { ForeignProcfs, mayMountHere, NO_FOREIGN_PROCFS } from "../support/foreign_procfs.ts";
import { namesIn } from "../support/sandbox_host.ts";
import { readsRefused } from "./reads.ts";
import {
  attack as attackAnywhere,
  type AttackScene,
  IS_ROOT,
  NO_WRITABLE_DIRECTORY,
  ONLY_ROOT,
  REFUSED,
} from "./scene.ts";

const attack: typeof attackAnywhere = mayMountHere(import.meta.url) ? attackAnywhere : () => {};

function mount(...args: string[]): void {
  const { success, stderr } = new Deno.Command("mount", { args }).outputSync();
  assert.ok(success, new TextDecoder().decode(stderr));
}

/** Mounts for the duration of the work, inside the workspace. */
async function withMounted(
  scene: AttackScene,
  mounts: Readonly<Record<string, readonly string[]>>,
  work: () => Promise<void>,
): Promise<void> {
  const places: string[] = [];
  try {
    for (const [name, args] of Object.entries(mounts)) {
      const place = `${scene.ws}/${name}`;
      await Deno.mkdir(place, { recursive: true });
      mount(...args, place);
      places.push(place);
    }
    await work();
  } finally {
    for (const place of places.reverse()) new Deno.Command("umount", { args: ["-l", place] }).outputSync();
  }
}

const CHROOT = {
  "chroot/proc": ["-t", "proc", "proc"],
  "chroot/sys": ["-t", "sysfs", "sysfs"],
} as const;

/** Opened for writing, and nothing written: without a sandbox that must not do anything. */
const open = (...files: string[]) =>
  `for file in ${files.join(" ")}; do [ -f "$file" ] && (: >> "$file") 2>/dev/null && echo "$file"; done; true`;

const SETTINGS = open(
  "chroot/proc/sys/kernel/core_pattern",
  "chroot/proc/sys/kernel/hostname",
  "chroot/proc/sysrq-trigger",
  "chroot/proc/irq/*/smp_affinity",
  "chroot/proc/1/oom_score_adj",
  "chroot/sys/kernel/mm/*/*",
  "chroot/sys/kernel/profiling",
);

attack("a procfs or sysfs in a writable directory is not written to", async (scene) => {
  await withMounted(scene, CHROOT, async () => {
    const free = await scene.run(SETTINGS, { sandbox: null });
    assert.match(free.stdout, /^chroot\/proc\/sys\/kernel\/core_pattern$/m);
    assert.match(free.stdout, /^chroot\/sys\//m);
    const { stdout, code } = await scene.run(SETTINGS);
    assert.deepEqual([stdout, code], ["", 0]);
    // What lies around them is written to as ever.
    assert.equal((await scene.run("echo x > chroot/new && mkdir chroot/etc")).code, 0);
  });
}, { not: NO_WRITABLE_DIRECTORY, unless: (!IS_ROOT && ONLY_ROOT) || NO_FOREIGN_PROCFS });

attack("a procfs or sysfs is not written to where the whole disk is granted, or they themselves are", async (scene) => {
  await withMounted(scene, CHROOT, async () => {
    const policies = [
      "write /, deny out/secret",
      "read /, write ws, write ws/chroot/proc, write ws/chroot/sys",
      "read /, write ws/chroot/proc/sys/kernel, write /proc/sys/kernel, write ws/chroot/sys/kernel",
    ];
    for (const policy of policies) {
      const { stdout, code } = await scene.run(SETTINGS, { sandbox: policy });
      assert.deepEqual([stdout, code], ["", 0], policy);
    }
    const system = open("/sys/kernel/mm/*/*", "/sys/kernel/profiling", "/sys/fs/cgroup/*/cgroup.procs");
    assert.notEqual((await scene.run(system, { sandbox: null })).stdout, "");
    assert.equal((await scene.run(system, { sandbox: "write /, deny out/secret" })).stdout, "");
  });
}, { not: NO_WRITABLE_DIRECTORY, unless: (!IS_ROOT && ONLY_ROOT) || NO_FOREIGN_PROCFS });

attack("a single setting is not granted for writing", async (scene) => {
  const setting = "/proc/sys/kernel/hostname";
  if (IS_ROOT) assert.equal((await scene.run(open(setting), { sandbox: null })).stdout, `${setting}\n`);
  assert.equal((await scene.run(open(setting), { sandbox: `read /, write ${setting}` })).stdout, "");
});

attack("a procfs in another place shows no other process", async (scene) => {
  using procfs = new ForeignProcfs(`${scene.ws}/procfs`);
  const look = `cat ${procfs.path}/${Deno.pid}/cmdline ${procfs.path}/${Deno.pid}/status`;
  assert.equal((await scene.run(look, { sandbox: null })).code, 0);
  const { stdout, stderr, code } = await scene.run(look, { sandbox: "read /" });
  assert.deepEqual([stdout, code === 0], ["", false]);
  assert.match(stderr, REFUSED);
}, { not: { landlock: "the list of processes is visible there" }, unless: NO_FOREIGN_PROCFS });

attack("no process of the host is made the first to be ended by way of another procfs", async (scene) => {
  using procfs = new ForeignProcfs(`${scene.ws}/procfs`);
  const script = open(`${procfs.path}/${Deno.pid}/oom_score_adj`, `${procfs.path}/${Deno.pid}/comm`);
  assert.notEqual((await scene.run(script, { sandbox: null })).stdout, "");
  const around = procfs.path.slice(0, procfs.path.lastIndexOf("/"));
  const sandbox = scene.backend === "bubblewrap" ? `read /, write ${around}` : scene.policy;
  assert.equal((await scene.run(script, { sandbox })).stdout, "");
}, { unless: NO_FOREIGN_PROCFS });

attack("a mount that no confined program can reach does not prevent the start", async (scene) => {
  await Deno.mkdir(`${scene.ws}/closed`);
  await withMounted(scene, { "closed/proc": ["-t", "proc", "proc"] }, async () => {
    await Deno.chmod(`${scene.ws}/closed`, 0o700);
    await Deno.chown(`${scene.ws}/closed`, 12345, 12345);
    assert.notDeepEqual(namesIn(`${scene.ws}/closed/proc`), []);
    const { code, stderr } = await scene.run("cat closed/proc/1/status");
    assert.notEqual(code, 0);
    assert.match(stderr, REFUSED);
    await Deno.chown(`${scene.ws}/closed`, 0, 0);
  });
}, { unless: (!IS_ROOT && ONLY_ROOT) || NO_FOREIGN_PROCFS });

attack("a procfs in another place does not give out the server's environment", async (scene) => {
  using procfs = new ForeignProcfs(`${scene.host.root}/procfs`);
  // A procfs has no digests to offer: to the kernel its files are empty.
  await readsRefused(scene, `${procfs.path}/${Deno.pid}/environ`, ["readFile", "open"]);
  await readsRefused(scene, `${procfs.path}/${Deno.pid}/auxv`, ["readFile"]);
}, { unless: NO_FOREIGN_PROCFS });

attack(
  "where another procfs could be written to, a policy that confines no files is not left to Landlock",
  async (scene) => {
    using procfs = new ForeignProcfs(`${scene.host.root}/procfs`);
    const permissions = { type: "external", network: "restricted" } as const;
    const sandbox = { ...scene.host.sandbox("read /"), permissions };
    const script = open(`${procfs.path}/sys/kernel/core_pattern`, `${procfs.path}/${Deno.pid}/oom_score_adj`);
    assert.notEqual((await scene.run(script, { sandbox: null })).stdout, "");
    if (scene.backend === "bubblewrap") assert.equal((await scene.run(script, { sandbox })).stdout, "");
    else {await assert.rejects(scene.run(script, { sandbox }), {
        kind: "invalidRequest",
        message: /cannot protect .*procfs/,
      });}
  },
  { unless: NO_FOREIGN_PROCFS },
);
