/** Sandboxes that wait for their command: what runs in one finds exactly what it would find in one that is made now. */

import assert from "node:assert/strict";
import type { StubReport } from "../../src/launch/stub/launch_stub.ts";
import { listProcesses } from "../../src/os/children/procfs.ts";
import { SandboxSetUpError } from "../../src/process/posix/confined_launch.ts";
import { NO_OWN_SANDBOX } from "../launch/own_sandbox.ts";
import { until } from "../support/until.ts";
import { isAlive, type RunningShell, type SupervisedScene, supervisedTest } from "../support/supervised_scene.ts";

const READ_ONLY = { sandbox: "read /" } as const;

/**
 * Everything a program can find out about where it runs. Numbers that differ from start to start are left out, and those
 * of processes: where bubblewrap has made the sandbox, one more process stays behind.
 */
const LOOK_AROUND = [
  'pwd; printf \'%s\\n\' "$0" "$-" "$#" "$BASH_EXECUTION_STRING" | sed \'s/^.*LOOK.*$//\'',
  "env | sort",
  "umask; ulimit -a | grep -v 'file locks'; id; ls -l /proc/self/fd | sed 's/.* \\([0-9]* -> [a-z/]*\\).*/\\1/'",
  "grep -v -e ctxt_switches -e '^Vm' -e '^Rss' -e Cpus -e Mems -e '^x86' /proc/self/status | grep -v '^\\(Pid\\|Tgid\\|Ngid\\|PPid\\|NStgid\\|NSpid\\):'",
  "cut -d' ' -f4- /proc/self/mountinfo | sed 's/^/MOUNT /'",
  "for p in /proc/[0-9]*; do [ $p = /proc/1 ] || cat $p/comm; done; echo first $(tr '\\0\\n' '  ' < /proc/1/cmdline | cut -d ' ' -f 1); ls -a / /dev /dev/shm /sys/class/net; cat /proc/net/dev | wc -l",
  "for f in 3 4 5 6 7 8 9; do test -e /proc/self/fd/$f && echo open $f; done",
  "tr '\\0' '\\n' < /proc/$$/environ | sort; kill -l > /dev/null; trap -p; cat /proc/$$/wchan",
].join("\n");

/** Children of ours that belong to a sandbox which waits. Each leads a session. */
function wrappers(): number[] {
  return listProcesses().filter(({ ppid, pid, sid }) => ppid === Deno.pid && sid === pid)
    .map(({ pid }) => pid).filter((pid) => ["launch", "bwrap"].includes(firstWord(pid)) && isAlive(pid));
}

function firstWord(pid: number): string {
  try {
    return Deno.readTextFileSync(`/proc/${pid}/cmdline`).split("\0", 1)[0]!;
  } catch {
    return "";
  }
}

/** The child, the first process inside, and the one that will become the command. */
function isComplete(child: number): boolean {
  return listProcesses().filter(({ sid }) => sid === child).length === 3;
}

/** Every failure, which may pass, costs a command. The stub's own sandboxes are given up after a few. */
const MAX_COMMANDS = 12;
/** Longer than it takes to make them on a busy machine. Then another command has them made. */
const FILLING_MS = 5_000;

/** Runs a first command, and resolves when sandboxes wait for the next. */
async function warmUp(scene: SupervisedScene): Promise<number[]> {
  for (let commands = 1;; commands++) {
    await scene.run(":", READ_ONLY);
    const found = () => wrappers().filter(isComplete);
    try {
      await until(() => found().length >= 3, () => `${found().length} sandboxes wait`, FILLING_MS);
      return wrappers();
    } catch (error) {
      if (commands === MAX_COMMANDS) throw error;
    }
  }
}

/** A command in a sandbox that waited. Those that wait are given up when somebody mounts something. */
async function startInWaiting(
  scene: SupervisedScene,
  ...options: Parameters<SupervisedScene["start"]>
): Promise<RunningShell> {
  for (let attempt = 1; attempt <= 5; attempt++) {
    const waited = await warmUp(scene);
    const running = await scene.start(...options);
    if (waited.includes(running.shell.pid)) return running;
    await running.outcome();
  }
  assert.fail("it did not run in one that waited");
}

/** What a look around has found, except for the few traces of who made the sandbox. */
function findings(output: string): { readonly mounts: readonly string[]; readonly rest: string } {
  const lines = output.split("\n");
  // Later mounts cover earlier ones in the same place. bubblewrap makes parts of `/proc` read-only that are so already. For
  // an ordinary user it has no right to cut off mounts from the host's, and no need to keep the modes of devices.
  const visible = lines.filter((line) => /^MOUNT \S+ (?!\/proc\/|\/dev\/\.launch )/.test(line))
    .map((line) =>
      Deno.uid() === 0
        ? line
        : line.replace(/ master:\d+/, "").replace(/( \/dev\/\w+) r[ow],nosuid,(noexec,)?/, "$1 rw,nosuid,")
    );
  const mounts = new Map(visible.map((line) => [line.split(" ")[2]!, line]));
  const rest = lines.filter((line) => !/^(MOUNT|first) /.test(line) && line !== ".launch");
  return { mounts: [...mounts.values()].sort(), rest: rest.join("\n") };
}

supervisedTest(
  "a command in a sandbox that waited finds what one finds in a sandbox of bubblewrap's",
  async (scene) => {
    const ordinary = scene.withoutStandbys();
    const anew = await ordinary.run(LOOK_AROUND, READ_ONLY);
    await ordinary.shells.close();
    const again = await (await startInWaiting(scene, LOOK_AROUND, READ_ONLY)).outcome();
    assert.match(anew.stdout, /^first bwrap$/m);
    assert.match(again.stdout, NO_OWN_SANDBOX === null ? /^first launch$/m : /^first bwrap$/m);
    assert.deepEqual(findings(again.stdout), findings(anew.stdout));
    assert.equal(again.stderr, anew.stderr);
    assert.equal(again.exitCode, anew.exitCode);
    assert.match(anew.stdout, new RegExp(`^PWD=${scene.ws}$`, "m"));
    assert.match(anew.stdout, /^CapBnd:\t0+\n[^]*^NoNewPrivs:\t1\nSeccomp:\t2\nSeccomp_filters:\t2$/m);
  },
);

supervisedTest("each is used once: nothing of a command is left for the next", async (scene) => {
  await warmUp(scene);
  const pids = new Set<number>();
  for (let round = 0; round < 8; round++) {
    const running = await scene.start("ls /dev/shm; echo > /dev/shm/left; (sleep 1000 > /dev/null 2>&1 &)", READ_ONLY);
    const { stdout, exitCode } = await running.outcome();
    assert.equal(`${stdout}${exitCode}`, "0");
    assert.ok(!pids.has(running.shell.pid));
    pids.add(running.shell.pid);
  }
});

supervisedTest("its programs are decided, and refused network calls known, as in any other", async (scene) => {
  const rules = { id: { kind: "deny", reason: "no" } } as const;
  const running = await startInWaiting(
    scene,
    "id; sh -c id; touch new; exec 3<>/dev/tcp/127.0.0.1/1; cd / && exec pwd",
    {
      ...READ_ONLY,
      rules,
    },
  );
  const { stdout, stderr, calls } = await running.outcome();
  assert.equal(stdout, "/\n");
  assert.match(stderr, /^Execution denied: no\nExecution denied: no\n.*Read-only file system\n[^]*not permitted/);
  assert.deepEqual(calls.map(({ isShell }) => isShell), [true, true, false, true, true]);
});

supervisedTest("a sandbox that depends on the disk is never made beforehand", async (scene) => {
  const { service } = scene.host;
  const program = { argv: ["/bin/bash", "-c", ":"], arg0: null, cwd: "/", env: {} };
  const command = { ...program, enforceManagedNetwork: false, asksBeforeExec: true };
  assert.notEqual(await service.standBy(scene.host.sandbox("read /"), command), null);
  for (const rules of ["read /, write ws", "read /, deny out", "read /, deny none", "read /usr", "write /"]) {
    assert.ok(await service.standBy(scene.host.sandbox(rules), command) === null, rules);
  }
});

supervisedTest("where only bubblewrap may make sandboxes, it makes those that wait, too", async (scene) => {
  const { service } = scene.host;
  const program = { argv: ["/bin/bash", "-c", ":"], arg0: null, cwd: "/", env: {} };
  const command = { ...program, enforceManagedNetwork: false, asksBeforeExec: true };
  const standBy = async () => (await service.standBy(scene.host.sandbox("read /"), command))!;
  const made = await standBy();
  assert.equal((await made.prepare()).plan.argv[0], "launch");
  assert.equal((await standBy()).key, made.key);
  const forbidden = { type: "notConfined", failure: "make its namespaces", errno: 1 } as const;
  const exhausted = { ...forbidden, errno: 11 };
  const mounted = { ...forbidden, failure: "put every mount in its place: there is one too many", errno: null };
  const fail = (standby: typeof made, ...reports: (StubReport & { type: "notConfined" })[]) => {
    for (const report of reports) standby.failed(new SandboxSetUpError(report, ""), report);
  };
  fail(made, forbidden, forbidden, ...Array.from({ length: 20 }, () => exhausted), mounted, mounted);
  for (let count = 0; count < 20; count++) made.failed(new Error("Too many open files (os error 24)"), null);
  assert.equal((await standBy()).key, made.key, "that may pass");
  made.made();
  fail(made, forbidden, forbidden);
  assert.equal((await standBy()).key, made.key, "it was possible meanwhile");
  fail(made, forbidden);
  const other = await standBy();
  assert.equal((await other.prepare()).plan.argv[0], "bwrap");
  const { stdout } = await scene.run("tr '\\0\\n' '  ' < /proc/1/cmdline | cut -d ' ' -f 1", READ_ONLY);
  assert.equal(stdout, "bwrap\n");
}, { obstacle: NO_OWN_SANDBOX });

supervisedTest(
  "where the stub's own sandboxes never get ready, bubblewrap makes those that wait, too",
  async (scene) => {
    const { service } = scene.host;
    const program = { argv: ["/bin/bash", "-c", ":"], arg0: null, cwd: "/", env: {} };
    const command = { ...program, enforceManagedNetwork: false, asksBeforeExec: true };
    const standBy = async () => (await service.standBy(scene.host.sandbox("read /"), command))!;
    const made = await standBy();
    for (let count = 0; count < 20; count++) made.failed(new Error("it has led us astray"), null);
    assert.equal((await (await standBy()).prepare()).plan.argv[0], "bwrap");
  },
  { obstacle: NO_OWN_SANDBOX },
);

for (const failing of [1, 2, 3]) {
  supervisedTest(
    `one that cannot be made for a moment is made after the next command: number ${failing}`,
    async (scene) => {
      const { backend } = scene.host;
      const standBy = backend.standBy.bind(backend);
      let calls = 0;
      backend.standBy = (...options) =>
        ++calls === failing ? Promise.reject(new Error("not now")) : standBy(...options);
      await scene.run(":", READ_ONLY);
      // The first was for this command, and the second is made while it runs. None is made after one that failed.
      if (failing === 3) {
        await until(() => calls === failing, () => `${calls} were made`);
        await scene.run(":", READ_ONLY);
      }
      await until(() => wrappers().filter(isComplete).length >= 3, () => "too few wait");
    },
  );
}

supervisedTest("another sandbox gives up those that waited; so does the end", async (scene) => {
  const waited = await warmUp(scene);
  const { permissions, ...rest } = scene.host.sandbox("read /");
  assert.equal(permissions.type, "managed");
  const online = { ...rest, permissions: { ...permissions, network: "enabled" } } as typeof rest & {
    permissions: typeof permissions;
  };
  const shell = await scene.shells.start({
    ...{ shell: "/bin/bash", command: ":", login: false, cwd: "/", env: {}, sandbox: online },
    ...{ intercept: "all", escalate: "shell", strictExec: false, onOutput() {} },
    decide: () => Promise.resolve({ kind: "run" }),
  });
  assert.ok(!waited.includes(shell.pid));
  await shell.closed;
  await until(() => !waited.some(isAlive), () => "they still wait");
  await scene.shells.close();
  assert.deepEqual(wrappers(), []);
});

supervisedTest("one that was killed while it waited is replaced", async (scene) => {
  const waited = await warmUp(scene);
  for (const pid of waited) Deno.kill(pid, "SIGKILL");
  // What they confined ends a moment later.
  const isLeft = () => listProcesses().some(({ pid, sid }) => waited.includes(sid) && isAlive(pid));
  await until(() => !isLeft(), () => "something still runs");
  for (let round = 0; round < 5; round++) {
    assert.equal((await scene.run("echo here", READ_ONLY)).stdout, "here\n");
  }
});

supervisedTest("a command that cannot be started is refused in the same words", async (scene) => {
  const first = await scene.run(":", { ...READ_ONLY, cwd: `${scene.ws}/none` }).catch(String);
  await warmUp(scene);
  assert.equal(await scene.run(":", { ...READ_ONLY, cwd: `${scene.ws}/none` }).catch(String), first);
  const missing = await scene.run(":", { ...READ_ONLY, shell: "/no/shell" }).catch(String);
  assert.match(String(missing), /No such file or directory/);
  assert.equal((await scene.run("echo here", READ_ONLY)).stdout, "here\n");
});
