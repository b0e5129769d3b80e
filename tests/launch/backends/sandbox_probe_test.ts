import assert from "node:assert/strict";
import { NO_KERNEL_MOUNTS } from "../../../src/launch/kernel_mounts.ts";
import { DomainError } from "../../../src/errors.ts";
import type { BubblewrapTool } from "../../../src/launch/backends/bubblewrap.ts";
import type { Availability } from "../../../src/launch/backends/bubblewrap_tool.ts";
import type { Enforcement } from "../../../src/launch/confine.ts";
import type { FilePolicy, PathRule, Policy } from "../../../src/launch/policy/policy.ts";
import { type ProbeHost, SandboxProbe, type SandboxSetting } from "../../../src/launch/backends/sandbox_probe.ts";
import { ManualClock } from "../../support/manual_clock.ts";

const TOOL: BubblewrapTool = { path: "/usr/bin/bwrap", version: "0.8.0", bindsDescriptors: true };
const yes = <T>(value: T): Availability<T> => ({ isAvailable: true, value });
const no = (reason: string): Availability<never> => ({ isAvailable: false, reason });

class FakeHost implements ProbeHost {
  isLinux = true;
  bubblewrap: Availability<BubblewrapTool> = yes(TOOL);
  abi: Availability<number> = yes(7);
  failures: Partial<Record<Enforcement["type"], string>> = {};
  readonly asked: string[] = [];

  findBubblewrap(): Promise<Availability<BubblewrapTool>> {
    this.asked.push("find");
    return Promise.resolve(this.bubblewrap);
  }

  landlockAbi(): Availability<number> {
    this.asked.push("abi");
    return this.abi;
  }

  readonly kernelMounts = NO_KERNEL_MOUNTS;

  listTopLevel(): readonly string[] {
    return ["/usr", "/dev"];
  }

  canary({ type }: Enforcement): Promise<string | null> {
    this.asked.push(`canary ${type}`);
    return Promise.resolve(this.failures[type] ?? null);
  }
}

const files = (base: FilePolicy["base"], rules: PathRule[] = []): FilePolicy => ({
  base,
  rules,
  missing: [],
  pinned: [],
  links: [],
});
const READ_ONLY: Policy = { files: files("read"), network: "restricted" };
const WORKSPACE: Policy = {
  files: files("read", [{ path: "/ws", access: "write", type: "directory", id: "1" }]),
  network: "restricted",
};

function setUp(setting: SandboxSetting = "auto", change: (host: FakeHost) => void = () => {}) {
  const host = new FakeHost();
  change(host);
  const clock = new ManualClock();
  return { host, clock, probe: new SandboxProbe({ setting, host, clock }) };
}

async function refusal(probe: SandboxProbe, policy: Policy): Promise<string> {
  try {
    await probe.choose(policy);
  } catch (error) {
    assert.ok(error instanceof DomainError);
    assert.equal(error.kind, "invalidRequest");
    return error.message;
  }
  assert.fail("was enforced");
}

Deno.test("SandboxProbe does not probe the host for a policy that confines nothing", async () => {
  for (const setting of ["auto", "bubblewrap", "landlock", "refuse"] as const) {
    const { host, probe } = setUp(setting);
    assert.deepEqual(await probe.choose({ files: "unrestricted", network: "enabled" }), { type: "none" });
    assert.deepEqual(host.asked, []);
  }
});

Deno.test("SandboxProbe confines a network alone by Landlock, else by bubblewrap, or refuses it", async () => {
  const network = { files: "unrestricted", network: "restricted" } as const;
  assert.equal((await setUp("bubblewrap").probe.choose(network)).type, "bubblewrap");
  const old = setUp("auto", (host) => (host.abi = { isAvailable: true, value: 5 }));
  assert.equal((await old.probe.choose(network)).type, "bubblewrap");
  assert.equal((await setUp().probe.choose(network, "files")).type, "bubblewrap");
  const chosen = await setUp().probe.choose(network);
  // Content can be written everywhere but in the kernel's own directories; no signals, no abstract sockets.
  const rules = [{ path: "/usr", access: 0x4002 }, { path: "/dev", access: 0x4002 }];
  assert.deepEqual(chosen, {
    type: "landlock",
    ruleset: { handledFileAccess: 0x4002, handledNetworkAccess: 3, scoped: 3, rules },
  });
  const { probe } = setUp("auto", (host) => {
    host.bubblewrap = no("bubblewrap is not installed");
    host.abi = { isAvailable: true, value: 5 };
  });
  assert.match(
    await refusal(probe, network),
    /version 5, which cannot keep signals inside.*; bubblewrap is not installed/,
  );
});

Deno.test("SandboxProbe chooses bubblewrap when it has been seen to work, and looks once", async () => {
  const { host, probe } = setUp();
  const choices = await Promise.all([probe.choose(WORKSPACE), probe.choose(READ_ONLY), probe.choose(WORKSPACE)]);
  assert.deepEqual(choices, [1, 2, 3].map(() => ({ type: "bubblewrap", tool: TOOL })));
  await probe.choose(WORKSPACE);
  assert.deepEqual(host.asked, ["find", "canary bubblewrap"]);
});

Deno.test("SandboxProbe falls back to Landlock for what Landlock can express, and refuses the rest with every reason", async () => {
  const { host, probe } = setUp("auto", (host) => (host.bubblewrap = no("bubblewrap is not installed")));
  assert.equal((await probe.choose(READ_ONLY)).type, "landlock");
  const message = await refusal(probe, WORKSPACE);
  assert.match(
    message,
    /^Cannot enforce the sandbox: bubblewrap is not installed; Landlock cannot express the policy: /,
  );
  assert.deepEqual(host.asked, ["find", "abi", "canary landlock"]);
});

Deno.test("SandboxProbe tries bubblewrap again if something was in its way for a moment", async () => {
  const { host, probe } = setUp();
  const failures = ["something is mounted on /mnt that should not be", null];
  host.canary = ({ type }) => {
    host.asked.push(`canary ${type}`);
    return Promise.resolve(failures.shift()!);
  };
  assert.deepEqual(await probe.choose(WORKSPACE), { type: "bubblewrap", tool: TOOL });
  assert.deepEqual(host.asked, ["find", "canary bubblewrap", "canary bubblewrap"]);
});

Deno.test("SandboxProbe does not use a backend whose canary got out", async () => {
  const { probe } = setUp("auto", (host) => {
    host.failures = { bubblewrap: "a confined process was able to write where it must not", landlock: "it sings" };
  });
  const message = await refusal(probe, READ_ONLY);
  assert.match(message, /bubblewrap 0\.8\.0 does not work here: a confined process was able to write/);
  assert.match(message, /Landlock does not work here: it sings/);
});

Deno.test("SandboxProbe never goes beyond the setting", async () => {
  const only = setUp("bubblewrap", (host) => (host.bubblewrap = no("gone")));
  assert.equal(await refusal(only.probe, READ_ONLY), "Cannot enforce the sandbox: gone");
  assert.ok(!only.host.asked.includes("abi"));
  const landlock = setUp("landlock");
  assert.equal((await landlock.probe.choose(READ_ONLY)).type, "landlock");
  assert.match(await refusal(landlock.probe, WORKSPACE), /^Cannot enforce the sandbox: Landlock cannot express/);
  assert.ok(!landlock.host.asked.includes("find"));
  const refuse = setUp("refuse");
  assert.match(await refusal(refuse.probe, READ_ONLY), /--sandbox refuse/);
  assert.match(await refusal(refuse.probe, { files: "unrestricted", network: "restricted" }), /--sandbox refuse/);
  assert.deepEqual(refuse.host.asked, []);
});

Deno.test("SandboxProbe looks again soon after a failure for want of processes, memory or descriptors", async () => {
  const { host, clock, probe } = setUp(
    "bubblewrap",
    (host) => (host.bubblewrap = no("/usr/bin/bwrap cannot be run: Resource temporarily unavailable (os error 11)")),
  );
  assert.match(await refusal(probe, READ_ONLY), /temporarily unavailable/);
  host.bubblewrap = yes(TOOL);
  await refusal(probe, READ_ONLY);
  assert.deepEqual(host.asked, ["find"]);
  clock.advance(500);
  assert.equal((await probe.choose(READ_ONLY)).type, "bubblewrap");
});

Deno.test("SandboxProbe looks again some time after a failure, and never after a success", async () => {
  const { host, clock, probe } = setUp("bubblewrap", (host) => (host.bubblewrap = no("not yet")));
  await refusal(probe, READ_ONLY);
  host.bubblewrap = yes(TOOL);
  clock.advance(29_999);
  await refusal(probe, READ_ONLY);
  assert.deepEqual(host.asked, ["find"]);
  clock.advance(1);
  assert.equal((await probe.choose(READ_ONLY)).type, "bubblewrap");
  host.bubblewrap = no("gone again");
  clock.advance(1_000_000);
  assert.equal((await probe.choose(READ_ONLY)).type, "bubblewrap");
});

Deno.test("SandboxProbe takes a probe that throws for a failure", async () => {
  const { host, probe } = setUp("bubblewrap");
  host.canary = () => Promise.reject(new Error("no temporary directory"));
  assert.equal(await refusal(probe, READ_ONLY), "Cannot enforce the sandbox: no temporary directory");
});

Deno.test("SandboxProbe refuses an old Landlock and systems it does not know", async () => {
  const old = setUp("landlock", (host) => (host.abi = yes(3)));
  assert.match(await refusal(old.probe, READ_ONLY), /version 3, which cannot keep signals inside/);
  const other = setUp("auto", (host) => (host.isLinux = false));
  assert.match(await refusal(other.probe, READ_ONLY), /no supported sandbox/);
});

Deno.test("SandboxProbe reports everything it found", async () => {
  const { probe } = setUp("auto", (host) => (host.bubblewrap = no("bubblewrap is not installed")));
  assert.deepEqual(await probe.facts(), { bubblewrap: no("bubblewrap is not installed"), landlock: yes(7) });
});
