/**
 * Programs that are decided, so often that a rare gap would show: races of a second thread against every decision, and
 * what thousands of programs leave behind. Races against strict supervision are in
 * `strict_execs.ts`, single attacks in `tests/attack/execs.ts`.
 *
 * What varies between two races is the time at which threads run, so the seed changes nothing here.
 */

import assert from "node:assert/strict";
import v8 from "node:v8";
import vm from "node:vm";
import type { ExecCall, ExecVerdict } from "../../src/mcp/supervised_shell.ts";
import { childrenOf, descriptorCount, listProcesses, residentMb } from "../support/proc.ts";
import { proof, type ProofRun } from "../support/proof.ts";
import { until } from "../support/until.ts";
import { ESCALATE, FORBIDDEN, NO_WATCH, SupervisedScene } from "../support/supervised_scene.ts";

const RACES = 2000;
const EXECS = 5000;
const RACER = new URL("../fixtures/racing_exec.py", import.meta.url).pathname;
const PYTHON = "/usr/bin/python3";

/** In a sandbox that is made for its command, and in one that was made before. */
const SANDBOXES = ["read /, write ws", "read /"];

/** Rounds of the storm. Memory is compared after the second, when everything has been used, and after the last. */
const ROUNDS = 10;
/** Of the heap, after a collection, for 4000 programs: 500 bytes each would be a leak. */
const MAX_KEPT_MB = 2;
/** Of the whole process. Pages that the collector has emptied stay with it for a while, however few programs there are. */
const MAX_RESIDENT_MB = 16;

function race(name: string, fn: (scene: SupervisedScene, run: ProofRun, sandbox: string) => Promise<void>): void {
  for (const sandbox of SANDBOXES) {
    const options = { name: `${name} (sandbox: ${sandbox})`, tries: RACES, unit: "races", missing: NO_WATCH };
    proof(options, async (run) => {
      await using scene = await SupervisedScene.open();
      run.remark(Deno.uid() === 0 ? "as root" : "as an ordinary user");
      await fn(scene, run, sandbox);
    });
  }
}

race("arguments changed by another thread never run outside unallowed", async (scene, { tries, remark }, sandbox) => {
  // Both words have one length, so that each is whole at any time.
  const [good, bad] = [`${scene.out}/FINE`, `${scene.out}/WIN!`];
  const decide = ({ argv }: ExecCall): Promise<ExecVerdict> =>
    Promise.resolve(argv.length === 2 && argv[1] === good ? ESCALATE : { kind: "run" });
  const command = `${PYTHON} ${RACER} ${tries} argument ${good} ${bad} /usr/bin/touch`;
  const { counters, exitCode } = await scene.run(command, { sandbox, decide, escalate: "all" });
  assert.equal(exitCode, 0);
  assert.equal(counters.execs, tries + 1);
  const names = Array.from(Deno.readDirSync(scene.out), ({ name }) => name);
  assert.deepEqual(names.filter((name) => name.startsWith("WIN")), []);
  // A mixture of both words may be allowed by nobody, so there are others as well.
  assert.ok(counters.escalated > 0 && counters.escalated < tries, `${counters.escalated} were allowed`);
  assert.ok(names.includes("FINE"));
  remark(`0 won; ${counters.escalated} were read as the allowed one`);
});

race("a path changed by another thread never runs outside unallowed", async (scene, { tries, remark }, sandbox) => {
  const bad = `${scene.ws}/evil`;
  await Deno.writeTextFile(bad, `#!/bin/sh\n: > ${scene.out}/WIN\n`, { mode: 0o755 });
  const decide = ({ file }: ExecCall): Promise<ExecVerdict> =>
    Promise.resolve(file === "/usr/bin/true" ? ESCALATE : { kind: "run" });
  const command = `${PYTHON} ${RACER} ${tries} path ${asLongAs(bad, "usr/bin/true")} ${bad}`;
  const { counters, exitCode } = await scene.run(command, { sandbox, decide, escalate: "all" });
  assert.equal(exitCode, 0);
  assert.ok(!Array.from(Deno.readDirSync(scene.out)).some(({ name }) => name === "WIN"));
  assert.ok(counters.escalated > 0 && counters.escalated < tries, `${counters.escalated} were allowed`);
  remark(`0 won; ${counters.escalated} were read as the allowed one`);
});

for (const strictExec of [false, true]) {
  const manner = strictExec ? "strict supervision" : "plain supervision";
  proof({
    name: `many programs leave no descriptor, zombie or memory behind (${manner})`,
    tries: EXECS,
    unit: "programs",
    missing: NO_WATCH,
  }, async ({ tries, remark }) => {
    await using scene = await SupervisedScene.open();
    const each = Math.ceil(tries / ROUNDS);
    const script = `for ((i = 0; i < ${each}; i++)); do /bin/true; done; id; touch ../out/FINE`;
    const rules = { id: FORBIDDEN, touch: ESCALATE };
    // Of backends of other tests in this process, which are closed and look after nobody any more.
    const others = new Set(zombies());
    const kept: number[] = [];
    const resident: number[] = [];
    let descriptors = 0;
    for (let round = 0; round < ROUNDS; round++) {
      const { counters } = await scene.run(script, { rules, strictExec });
      assert.deepEqual([counters.execs, counters.denied, counters.escalated], [each + 2, 1, 1]);
      kept.push(keptMb());
      resident.push(residentMb(Deno.pid));
      if (round === 1) descriptors = descriptorCount(Deno.pid);
    }
    // A listener is closed when the kernel tells that nobody is left.
    const now = () => descriptorCount(Deno.pid);
    await until(() => now() <= descriptors, () => `${now()} descriptors, ${descriptors} before`);
    // The end of a child is noticed in its own time.
    const left = () => zombies().filter((pid) => !others.has(pid));
    await until(() => left().length === 0, () => `zombies: ${left()}`);
    assert.deepEqual(traced(), []);
    const growth = (values: readonly number[]) => values.at(-1)! - values[1]!;
    const listed = (values: readonly number[]) => values.map((value) => value.toFixed(1)).join(", ");
    assert.ok(growth(kept) < MAX_KEPT_MB, `heap after each tenth: ${listed(kept)} MiB`);
    assert.ok(growth(resident) < MAX_RESIDENT_MB, `resident after each tenth: ${listed(resident)} MiB`);
    remark(`heap grew by ${growth(kept).toFixed(2)} MiB, the process by ${growth(resident).toFixed(1)} MiB`);
  });
}

/** The same program by a path as long as another, through as many slashes as it takes. */
function asLongAs(path: string, other: string): string {
  return `${"/".repeat(path.length - other.length)}${other}`;
}

/** What is left of the heap after a collection. */
function keptMb(): number {
  v8.setFlagsFromString("--expose-gc");
  vm.runInNewContext("gc")();
  const { heapUsed, external } = Deno.memoryUsage();
  return (heapUsed + external) / 2 ** 20;
}

/** Our own children that have ended and that nobody has asked about. */
function zombies(): number[] {
  return childrenOf(Deno.pid).filter(({ state }) => state === "Z").map(({ pid }) => pid);
}

/** Those that we still trace. */
function traced(): number[] {
  const tracer = new RegExp(`^TracerPid:\\s*${Deno.pid}$`, "m");
  return listProcesses().map(({ pid }) => pid).filter((pid) => {
    try {
      return tracer.test(Deno.readTextFileSync(`/proc/${pid}/status`));
    } catch {
      return false; // Gone while we looked.
    }
  });
}
