/**
 * A sandbox is looked at before its command runs. Here its mounts do not come to lie where they should: because the
 * wrapper is told to do something else than planned, as if somebody had led it astray, or because somebody really tries.
 */

import assert from "node:assert/strict";
import type { LaunchPlan } from "../../../src/launch/launch_plan.ts";
import type { PreparedLaunch } from "../../../src/launch/launch_plan.ts";
import { SandboxSetUpError } from "../../../src/process/posix/confined_launch.ts";
import { LinkSwapper } from "../../support/link_swapper.ts";
import { RecordedChild, shell } from "../../support/recorded_child.ts";
import { namesIn, type SandboxHost, sandboxTest } from "../../support/sandbox_host.ts";

const ARGS_FD = 3;
const PLACED = ["esc", "escd", "in.txt", "sub"];

/** The same plan with other arguments for the wrapper. */
function withArguments(plan: LaunchPlan, change: (args: string[]) => string[]): LaunchPlan {
  const descriptors = plan.descriptors.map((planned) => {
    if (planned.fd !== ARGS_FD || planned.type !== "bytes") return planned;
    const args = change(new TextDecoder().decode(planned.bytes).slice(0, -1).split("\0"));
    return { ...planned, bytes: new TextEncoder().encode(args.map((arg) => `${arg}\0`).join("")) };
  });
  return { ...plan, descriptors };
}

/** What is mounted after all else, before the stub is put in place. */
function adding(...more: string[]): (plan: LaunchPlan) => LaunchPlan {
  return (plan) => withArguments(plan, (args) => args.toSpliced(args.lastIndexOf("--perms"), 0, ...more));
}

/** Without what mounts something on this path: a name, a source and the path, unless there is more to it. */
function leavingOut(path: string, count = 3): (plan: LaunchPlan) => LaunchPlan {
  return (plan) => withArguments(plan, (args) => args.toSpliced(args.lastIndexOf(path) + 1 - count, count));
}

function replacing(one: readonly string[], other: readonly string[]): (plan: LaunchPlan) => LaunchPlan {
  return (plan) =>
    withArguments(plan, (args) => {
      const at = args.findIndex((_, index) => one.every((arg, offset) => args[index + offset] === arg));
      assert.notEqual(at, -1);
      return args.toSpliced(at, one.length, ...other);
    });
}

/** Starts a command whose plan is changed on the way. */
async function start(
  host: SandboxHost,
  policy: string,
  change: (plan: LaunchPlan) => LaunchPlan | Promise<LaunchPlan>,
  globs: readonly string[] = [],
): Promise<RecordedChild> {
  const request = shell("echo ran > ws/ran; echo ran", { cwd: host.root });
  const confinement = host.service.confineCommand(host.sandbox(policy, "restricted", globs), {
    ...request,
    enforceManagedNetwork: false,
  })!;
  const prepare = async (): Promise<PreparedLaunch> => {
    const { plan, release } = await confinement.prepare();
    return { plan: await change(plan), release };
  };
  return await RecordedChild.run(host.backend, { ...request, confinement: { prepare } });
}

/** The start fails, for this reason, and nothing has run. */
async function refused(
  host: SandboxHost,
  reason: RegExp,
  ...args: Parameters<typeof start> extends [unknown, ...infer Rest] ? Rest : never
): Promise<void> {
  const failure = await start(host, ...args).then(() => null, (error) => error);
  assert.ok(failure instanceof SandboxSetUpError, String(failure));
  assert.equal(failure.kind, "internal");
  assert.match(failure.message, /^Cannot start process in its sandbox: cannot put every mount in its place: /);
  assert.match(failure.message, reason);
  assert.ok(!namesIn(`${host.root}/ws`).includes("ran"));
}

sandboxTest("a sandbox that is as planned may continue", async (host) => {
  const policy = "read /, write ws, deny out/o.txt, deny ws/sub, read ws/in.txt, deny ws/later";
  assert.equal((await start(host, policy, (plan) => plan)).text("stdout"), "ran\n");
  assert.deepEqual(namesIn(`${host.root}/ws`), [...PLACED, "ran"].sort());
});

sandboxTest(
  "a sandbox with an unplanned mount may not continue, whatever it shows and wherever it is",
  async (host) => {
    const { root } = host;
    await Deno.mkdir(`${root}/ws/empty`);
    const strays: [reason: string, ...args: string[]][] = [
      [`${root}/out`, "--bind", `${root}/out`, `${root}/out`],
      [`${root}/ws/empty`, "--bind", `${root}/out`, `${root}/ws/empty`],
      [`${root}/ws/empty`, "--ro-bind", "/", `${root}/ws/empty`],
      // Into what bubblewrap makes itself, onto what it has put there, and onto a copy of a mount of the host's.
      ["/dev/shm", "--bind", `${root}/out`, "/dev/shm"],
      ["/dev/null", "--bind", `${root}/out/o.txt`, "/dev/null"],
      ["/dev/console", "--bind", `${root}/out/o.txt`, "/dev/console"],
      ["/proc/sys", "--ro-bind", `${root}/out`, "/proc/sys"],
      ["/sys", "--bind", "/sys", "/sys"],
    ];
    for (const [where, ...args] of strays) {
      await refused(host, new RegExp(`something is mounted on ${where} that`), "read /, write ws", adding(...args));
    }
    assert.deepEqual(namesIn(`${root}/ws`), [...PLACED, "empty"].sort());
  },
);

sandboxTest("a mount that is missing, shows something else or can be written to is noticed", async (host) => {
  const { root } = host;
  const policy = "read /, write ws, read ws/sub, deny out/o.txt, deny ws/later";
  const [git, later] = [`${root}/ws/.git`, `${root}/ws/later`];
  await refused(host, /ws\/\.git is not mounted/, policy, leavingOut(git));
  await refused(host, /out\/o\.txt is not mounted/, policy, leavingOut(`${root}/out/o.txt`));
  await refused(host, /ws\/later is not mounted/, policy, leavingOut(later, 5));
  const other = ["--ro-bind", `${root}/out`, git];
  await refused(host, /ws\/\.git was replaced/, policy, replacing(["--ro-bind", git, git], other));
  const shown = ["--ro-bind", `${root}/ws/in.txt`, `${root}/out/o.txt`];
  const hidden = ["--ro-bind", "/dev/null", `${root}/out/o.txt`];
  await refused(host, /out\/o\.txt was replaced/, policy, replacing(hidden, shown));
  await refused(host, /mounted on .*ws\/\.git that/, policy, replacing(["--ro-bind", git, git], ["--bind", git, git]));
  await refused(host, /mounted on \/ that/, policy, replacing(["--ro-bind", "/", "/"], ["--bind", "/", "/"]));
  await refused(
    host,
    /mounted on \/ that/,
    `read /usr, read ${root}, write ws`,
    replacing(["--tmpfs", "/"], ["--ro-bind", "/", "/"]),
  );
});

/** The same plan, carried out after this script. */
async function after(host: SandboxHost, script: string, plan: LaunchPlan): Promise<LaunchPlan> {
  const program = `${host.root}/wrapper`;
  await Deno.writeTextFile(program, `#!/bin/sh\n${script}\nexec ${plan.program} "$@"\n`);
  await Deno.chmod(program, 0o755);
  return { ...plan, program };
}

sandboxTest("what is denied by a pattern does not escape its mask by moving away at the last moment", async (host) => {
  const ws = `${host.root}/ws`;
  await Deno.writeTextFile(`${ws}/sub/a.key`, "secret");
  const decoy = `cd ${ws} && mv sub moved && mkdir sub && : > sub/a.key`;
  const change = (plan: LaunchPlan) => after(host, decoy, plan);
  await refused(host, /ws\/sub is no longer the same directory/, "read /, write ws", change, [`${ws}/**/*.key`]);
});

sandboxTest("a directory that was swapped for another after the policy was made is looked at again", async (host) => {
  const ws = `${host.root}/ws`;
  await Deno.writeTextFile(`${ws}/sub/a.key`, "secret");
  let plans = 0;
  const change = async (plan: LaunchPlan): Promise<LaunchPlan> => {
    if (plans++ > 0) return plan;
    await Deno.rename(`${ws}/sub`, `${ws}/moved`);
    await Deno.mkdir(`${ws}/sub`);
    await Deno.writeTextFile(`${ws}/sub/a.key`, "decoy");
    return plan;
  };
  const child = await start(host, "read /, write ws", change, [`${ws}/**/*.key`]);
  assert.equal(child.text("stdout"), "ran\n");
  assert.equal(plans, 2);
});

/** For the swap to come at the right moment once: it mostly does in the first few starts. */
const PATIENCE_MS = 60_000;

sandboxTest("a root that keeps being swapped for a link never opens what the link leads to", async (host) => {
  const { root } = host;
  await Deno.mkdir(`${root}/ws/root`);
  await Deno.symlink("../out", `${root}/ws/link`);
  // Were they missing, the wrapper would mostly fail before it can be led astray.
  for (const name of [".git", ".codex", ".agents", ".aws"]) {
    for (const directory of ["out", "ws/root"]) await Deno.mkdir(`${root}/${directory}/${name}`);
  }
  const before = namesIn(`${root}/out`);
  const request = shell("touch ws/root/touched out/touched", { cwd: root });
  const swapping = new Swapping(`${root}/ws/root`, `${root}/ws/link`);
  let refusals = 0;
  const deadline = performance.now() + PATIENCE_MS;
  try {
    for (let set = 0; set < 40 || (refusals === 0 && performance.now() < deadline);) {
      const confined = host.confined(request, host.sandbox("read /, write ws, write ws/root"));
      const outcome = await RecordedChild.run(host.backend, confined).then(() => "ran", (error) => error);
      if (outcome !== "ran") refusals++;
      if (outcome === "ran" || outcome instanceof SandboxSetUpError) set++;
      // The policy met the link. The swapping is paced by timers, which would otherwise never get their turn.
      else await new Promise((resolve) => setTimeout(resolve));
      assert.deepEqual(namesIn(`${root}/out`), before);
    }
  } finally {
    await swapping.end();
  }
  assert.ok(refusals > 0, "nothing was swapped in time");
});

/** Exchanges two names in bursts, resting in between so that a start gets far enough for the next one to matter. */
class Swapping {
  readonly #swapper: LinkSwapper;
  readonly #ended: Promise<void>;
  #isEnding = false;

  constructor(one: string, other: string) {
    this.#swapper = new LinkSwapper(one, other);
    this.#ended = this.#go();
  }

  async #go(): Promise<void> {
    const aMoment = () => new Promise((resolve) => setTimeout(resolve, 4 * Math.random()));
    while (!this.#isEnding) {
      await this.#swapper.pause();
      await aMoment();
      this.#swapper.resume();
      await aMoment();
    }
  }

  async end(): Promise<void> {
    this.#isEnding = true;
    await this.#ended;
    await this.#swapper.pause();
    this.#swapper.end();
  }
}
