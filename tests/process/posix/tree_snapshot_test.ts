import assert from "node:assert/strict";
import type { ProcessStat } from "../../../src/os/children/procfs.ts";
import { type MarkReading, type Owner, TreeRoot, TreeSnapshot } from "../../../src/process/posix/tree_snapshot.ts";

const SELF = 100;
const OWN_SESSION = 90;

/** Two children of ours: 200 runs, 300 has been reaped and may have left something behind. */
const running = rootWith(1, 200);
const reaped = rootWith(2, 300);
/** Stands for either of them: children made while both were being started carry it. */
const SHARED_SERIAL = 3;

function rootWith(serial: number, pid: number): TreeRoot {
  const root = new TreeRoot(serial);
  root.pid = pid;
  return root;
}

function stat(pid: number, ppid: number, changes: Partial<ProcessStat> = {}): ProcessStat {
  return { pid, ppid, state: "S", pgid: pid, sid: pid, startTime: pid, ...changes };
}

const world: readonly ProcessStat[] = [
  stat(1, 0),
  stat(SELF, 1, { sid: OWN_SESSION }),
  stat(200, SELF),
];

/** Who owns the last of the processes given, in a world with us and our children in it. */
function ownerAmong(
  processes: readonly ProcessStat[],
  options: { marks?: Record<number, MarkReading>; protectedPids?: number[] } = {},
): Owner {
  const snapshot = new TreeSnapshot([...world, ...processes], {
    selfPid: SELF,
    unreapedRoots: new Map([[200, running]]),
    candidates: new Map([[1, [running]], [2, [reaped]], [SHARED_SERIAL, [running, reaped]]]),
    protectedPids: new Set(options.protectedPids),
    readMark: (pid) => options.marks?.[pid] ?? "none",
  });
  return snapshot.ownerOf(processes.at(-1)!);
}

const FOREIGN: Owner = { type: "foreign" };
const UNATTRIBUTED: Owner = { type: "unattributed" };
const byRunning: Owner = { type: "roots", candidates: [running] };
const byReaped: Owner = { type: "roots", candidates: [reaped] };

Deno.test("TreeSnapshot gives a descendant to the child its parents lead to, without reading marks", () => {
  const marks = { 402: { serial: 2 } };
  assert.deepEqual(ownerAmong([stat(401, 200), stat(402, 401)], { marks }), byRunning);
});

Deno.test("TreeSnapshot gives an orphan to the child whose mark it carries, whatever its session", () => {
  assert.deepEqual(ownerAmong([stat(401, SELF)], { marks: { 401: { serial: 2 } } }), byReaped);
  assert.deepEqual(ownerAmong([stat(401, SELF, { sid: 200 })], { marks: { 401: { serial: 2 } } }), byReaped);
});

Deno.test("TreeSnapshot gives an orphan's children to the orphan's owner", () => {
  assert.deepEqual(ownerAmong([stat(401, SELF), stat(402, 401)], { marks: { 401: { serial: 2 } } }), byReaped);
});

Deno.test("TreeSnapshot names all candidates of a mark that was shared", () => {
  const owner = ownerAmong([stat(401, SELF)], { marks: { 401: { serial: SHARED_SERIAL } } });
  assert.deepEqual(owner, { type: "roots", candidates: [running, reaped] });
});

Deno.test("TreeSnapshot gives an unmarked orphan to the child whose session it is in", () => {
  assert.deepEqual(ownerAmong([stat(401, SELF, { sid: 300 })]), byReaped);
});

Deno.test("TreeSnapshot leaves an orphan without mark and known session unattributed", () => {
  assert.deepEqual(ownerAmong([stat(401, SELF)]), UNATTRIBUTED);
  assert.deepEqual(ownerAmong([stat(401, SELF)], { marks: { 401: { serial: 77 } } }), UNATTRIBUTED);
});

Deno.test("TreeSnapshot leaves alone what other parts of the program started", () => {
  const inOurSession = stat(401, SELF, { sid: OWN_SESSION });
  assert.deepEqual(ownerAmong([inOurSession]), FOREIGN);
  assert.deepEqual(ownerAmong([inOurSession], { marks: { 401: { serial: 1 } } }), FOREIGN);
  assert.deepEqual(ownerAmong([inOurSession, stat(402, 401)]), FOREIGN);
  assert.deepEqual(ownerAmong([stat(401, SELF), stat(402, 401)], { protectedPids: [401] }), FOREIGN);
  assert.deepEqual(ownerAmong([stat(401, SELF)], { marks: { 401: "foreign" } }), FOREIGN);
});

Deno.test("TreeSnapshot leaves the rest of the system alone", () => {
  assert.deepEqual(ownerAmong([stat(1, 0)]), FOREIGN);
  assert.deepEqual(ownerAmong([stat(401, 1)]), FOREIGN);
  assert.deepEqual(ownerAmong([stat(401, 1, { sid: 300 })]), FOREIGN);
  assert.deepEqual(ownerAmong([stat(401, 1), stat(402, 401)]), FOREIGN);
});

Deno.test("TreeSnapshot does not take a younger process for the parent of an older one", () => {
  assert.deepEqual(ownerAmong([stat(401, 200, { startTime: 150 })]), FOREIGN);
});

Deno.test("TreeSnapshot decides by the mark when the parent ended during the look", () => {
  assert.deepEqual(ownerAmong([stat(401, 999)], { marks: { 401: { serial: 1 } } }), byRunning);
  assert.deepEqual(ownerAmong([stat(401, 999)]), FOREIGN);
});

Deno.test("TreeSnapshot survives a circle of reused numbers", () => {
  const circle = [stat(401, 402, { startTime: 5 }), stat(402, 401, { startTime: 5 })];
  assert.deepEqual(ownerAmong(circle), FOREIGN);
});

Deno.test("TreeSnapshot.living() leaves zombies out", () => {
  const processes = [...world, stat(401, 200), stat(402, 200, { state: "Z" })];
  const snapshot = new TreeSnapshot(processes, {
    selfPid: SELF,
    unreapedRoots: new Map([[200, running]]),
    candidates: new Map([[1, [running]]]),
    protectedPids: new Set(),
    readMark: () => "none",
  });
  assert.deepEqual(snapshot.living((owner) => owner.type === "roots").map(({ pid }) => pid), [200, 401]);
});
