import assert from "node:assert/strict";
import { closeDescriptor, O_RDONLY, openDescriptor } from "../../../src/os/descriptor.ts";
import {
  hasChildren,
  listOwnDescriptors,
  listProcesses,
  onlyChildOf,
  readSoftLimit,
  readStat,
} from "../../../src/os/children/procfs.ts";

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

Deno.test("hasChildren() tells whether there is a child, an ended one too, and none of a process that is gone", async () => {
  const childless = new Deno.Command("sleep", { args: ["1000"], stdout: "null" }).spawn();
  const parent = new Deno.Command("sh", { args: ["-c", "sleep 1000 & echo; wait"], stdout: "piped" }).spawn();
  await parent.stdout.getReader().read();
  assert.deepEqual([hasChildren(childless.pid), hasChildren(parent.pid)], [false, true]);
  const child = onlyChildOf(parent.pid)!;
  parent.kill("SIGKILL");
  childless.kill("SIGKILL");
  await Promise.all([parent.status, childless.status]);
  Deno.kill(child, "SIGKILL");
  assert.deepEqual([hasChildren(childless.pid), hasChildren(parent.pid)], [false, false]);
});
