import assert from "node:assert/strict";
import { closeDescriptor, O_RDONLY, openDescriptor } from "../../../src/os/descriptor.ts";
import {
  hasChildren,
  listChildren,
  listOwnDescriptors,
  listProcesses,
  onlyChildOf,
  readSoftLimit,
  readStat,
} from "../../../src/os/children/procfs.ts";
import { until } from "../../support/until.ts";

Deno.test("readStat() tells a process's place in the tree", () => {
  const self = readStat(Deno.pid)!;
  assert.equal(self.pid, Deno.pid);
  assert.equal(self.ppid, Deno.ppid);
  assert.ok(self.startTime > 0);
  assert.equal(readStat(0), null);
});

Deno.test("readStat() is not confused by the name of a program", async () => {
  const directory = await Deno.makeTempDir();
  const path = `${directory}/a ) S 1 (b`;
  await Deno.copyFile("/bin/sleep", path);
  const child = new Deno.Command(path, { args: ["1000"] }).spawn();
  assert.equal(readStat(child.pid)?.ppid, Deno.pid);
  child.kill("SIGKILL");
  await child.status;
  await Deno.remove(directory, { recursive: true });
});

Deno.test("listProcesses() finds us and our parent", () => {
  const pids = listProcesses().map(({ pid }) => pid);
  assert.ok(pids.includes(Deno.pid) && pids.includes(Deno.ppid));
  assert.equal(new Set(pids).size, pids.length);
});

Deno.test("readSoftLimit() reads numbers and treats unlimited and unknown alike", () => {
  assert.ok(readSoftLimit(Deno.pid, "Max open files")! > 0n);
  assert.equal(readSoftLimit(Deno.pid, "Max address space"), null);
  assert.equal(readSoftLimit(Deno.pid, "Max nonsense"), null);
});

Deno.test("listOwnDescriptors() sees a descriptor while it is open", () => {
  const fd = openDescriptor("/dev/null", O_RDONLY);
  assert.ok(listOwnDescriptors().includes(fd));
  closeDescriptor(fd);
});

/** As `listChildren`, on a kernel that keeps no lists of children. */
const NO_LISTS = (): null => null;
const WAYS = { "the kernel's lists": listChildren, "no lists": NO_LISTS };

for (const [way, list] of Object.entries(WAYS)) {
  Deno.test(`hasChildren() and onlyChildOf() find children, ended ones too, and none of a process that is gone: ${way}`, async () => {
    const childless = new Deno.Command("sleep", { args: ["1000"], stdout: "null" }).spawn();
    const script = "sleep 1000 & echo $!; wait";
    const parent = new Deno.Command("sh", { args: ["-c", script], stdout: "piped" }).spawn();
    const child = Number(new TextDecoder().decode((await parent.stdout.getReader().read()).value));
    assert.deepEqual([hasChildren(childless.pid, list), hasChildren(parent.pid, list)], [false, true]);
    assert.deepEqual([onlyChildOf(childless.pid, list), onlyChildOf(parent.pid, list)], [null, child]);
    // Stopped, it does not reap its child, which only the kernel still knows.
    parent.kill("SIGSTOP");
    await until(() => readStat(parent.pid)?.state === "T", () => "it did not stop");
    Deno.kill(child, "SIGKILL");
    await until(() => readStat(child)?.state === "Z", () => "its child did not end");
    assert.deepEqual([hasChildren(parent.pid, list), onlyChildOf(parent.pid, list)], [true, child]);
    parent.kill("SIGKILL");
    childless.kill("SIGKILL");
    await Promise.all([parent.status, childless.status]);
    assert.deepEqual([hasChildren(childless.pid, list), hasChildren(parent.pid, list)], [false, false]);
    assert.equal(onlyChildOf(parent.pid, list), null);
  });
}

Deno.test("hasChildren() does not look through all processes for the children of one that is gone", async () => {
  const gone = new Deno.Command("true").spawn();
  await gone.status;
  const reads = (): number => Number(/^syscr: (\d+)$/m.exec(Deno.readTextFileSync("/proc/self/io"))![1]);
  const readsOf = (work: () => unknown): number => {
    const before = reads();
    work();
    return reads() - before;
  };
  // The least of several: other threads of this program read, too.
  const least = (work: () => unknown): number => Math.min(...Array.from({ length: 10 }, () => readsOf(work)));
  const forOne = least(() => readStat(gone.pid)) + 2;
  assert.ok(least(listProcesses) > forOne);
  assert.ok(least(() => hasChildren(gone.pid)) <= forOne);
});

Deno.test("onlyChildOf() finds no only child if there are two", async () => {
  const script = "sleep 1000 & sleep 1000 & echo; wait";
  const parent = new Deno.Command("setsid", { args: ["sh", "-c", script], stdout: "piped" }).spawn();
  await parent.stdout.getReader().read();
  for (const list of Object.values(WAYS)) assert.equal(onlyChildOf(parent.pid, list), null);
  Deno.kill(-parent.pid, "SIGKILL");
  await parent.status;
});
