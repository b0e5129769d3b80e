/** The sandbox that the launch stub makes by itself: its processes, their ends, and what is told when it fails. */

import assert from "node:assert/strict";
import { readSysctl } from "../../../src/os/children/procfs.ts";
import { NO_OWN_SANDBOX, ownSandboxPlan as plan } from "../own_sandbox.ts";
import { runPlan } from "../run_plan.ts";

function test(name: string, fn: () => Promise<void>): void {
  const ignore = NO_OWN_SANDBOX !== null;
  Deno.test({ name: ignore ? `${name} (SKIPPED: ${NO_OWN_SANDBOX})` : name, ignore, fn });
}

test("a stub's own sandbox ends as its command does, by itself or by a signal", async () => {
  const cases: [string, number][] = [["exit 0", 0], ["exit 7", 7], ["exit 255", 255], ["kill -TERM $$", 143], [
    "kill -KILL $$",
    137,
  ]];
  for (const [script, code] of cases) {
    const run = await runPlan(plan(script));
    assert.deepEqual(run, { code, stdout: "", stderr: "", report: { type: "executed" } }, script);
  }
});

test("a stub's own sandbox has a first process that reaps orphans and holds nothing open", async () => {
  const orphans = "for i in 1 2 3 4 5 6 7 8 9; do (sleep 0.0$i &); done; ";
  const wait = "while set -- /proc/[0-9]*; [ $# -gt 2 ]; do :; done; ";
  const run = await runPlan(plan(`${orphans}${wait}echo $$ $PPID; cat /proc/1/comm; ls /proc/1/fd`));
  const [, number] = /^(\d+) 1\nlaunch\n$/.exec(run.stdout) ?? [];
  assert.deepEqual([run.stderr, run.code], ["", 0], run.stdout);
  // Where few of the host's processes are, if the kernel lets the number be chosen.
  assert.ok(Number(number) > (readSysctl("kernel.ns_last_pid") === null ? 1 : 24_000), run.stdout);
});

test("what a command leaves running in a stub's own sandbox ends with it", async () => {
  const mark = crypto.randomUUID();
  const run = await runPlan(plan(`setsid sh -c 'sleep 1000; :' ${mark} > /dev/null 2>&1 & exit 3`));
  assert.equal(run.code, 3);
  const left = Array.from(Deno.readDirSync("/proc"), ({ name }) => name).filter((name) => /^\d+$/.test(name))
    .filter((pid) => commandLine(pid).includes(mark));
  assert.deepEqual(left, []);
});

test("the command in a stub's own sandbox is its user, with no rights of root and a network of its own", async () => {
  const run = await runPlan(plan("id -u; id -g; grep -e Cap -e NoNew /proc/self/status"));
  const sets = ["Inh", "Prm", "Eff", "Bnd", "Amb"].map((set) => `Cap${set}:\t0000000000000000\n`).join("");
  assert.equal(run.stdout, `${Deno.uid()}\n${Deno.gid()}\n${sets}NoNewPrivs:\t1\n`);
  // Modules for tunnels give every network a device, which leads nowhere and has no address.
  const alone = await runPlan(plan("cat /proc/net/dev; echo; cat /proc/net/fib_trie /proc/net/if_inet6"));
  const [list = "", addresses = ""] = alone.stdout.split("\n\n");
  assert.ok(devices(list).split(",").includes("lo"), list);
  const own = [...addresses.matchAll(/\|-- (\S+)\n\s*\/32 host LOCAL|^([0-9a-f]{32}) /gm)].map(([, v4, v6]) =>
    v4 ?? v6!
  );
  assert.ok(own.includes("127.0.0.1"), addresses);
  assert.ok(own.every((address) => address.startsWith("127.") || /^0{31}1$/.test(address)), addresses);
  const shared = await runPlan(plan("cat /proc/net/dev", { ownsNetwork: false }));
  assert.equal(devices(shared.stdout), devices(Deno.readTextFileSync("/proc/net/dev")));
});

test("nothing can be written in a stub's own sandbox but devices and what is its own", async () => {
  const places = ["/tmp", "/dev", "/dev/shm", "/proc/self", "/sys", "/", "/etc"];
  const run = await runPlan(
    plan(
      `for d in ${places.join(" ")}; do (: > $d/x) 2> /dev/null && echo $d; done; echo > /dev/null; ` +
        "(echo 1 > /proc/self/oom_score_adj) 2>&1 | grep -o 'Read-only.*'",
    ),
  );
  assert.equal(run.stdout, "/dev\n/dev/shm\nRead-only file system\n");
});

test("a stub that cannot make its sandbox says which part, and runs nothing", async () => {
  const filter = await runPlan(plan("echo ran", { seccomp: new Uint8Array(8).fill(0xff) }));
  assert.deepEqual(filter, {
    code: 126,
    stdout: "",
    stderr: "",
    report: { type: "notConfined", failure: "install the system call filter", errno: 22 },
  });
  // Only root may be somebody else inside.
  const setUp = await runPlan(plan("echo ran", Deno.uid() === 0 ? { uid: 0xffffffff } : { uid: 0, gid: 0 }));
  assert.deepEqual([setUp.code, setUp.stdout], [126, ""]);
  assert.ok(setUp.report.type === "notConfined");
  assert.equal(setUp.report.failure, "set up what is inside");
});

function devices(list: string): string {
  return list.split("\n").slice(2).map((line) => line.split(":")[0]!.trim()).sort().join();
}

function commandLine(pid: string): string {
  try {
    return Deno.readTextFileSync(`/proc/${pid}/cmdline`);
  } catch {
    return "";
  }
}
