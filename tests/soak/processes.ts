/**
 * At least 4500 processes, half of them on terminals, twelve at a time, over sessions whose connections are cut and resumed at
 * random: every byte and every exit code arrives, numbers are dense, and the server is left as it was found.
 * `SOAK_SEED` and `SOAK_SPAWNS` repeat or scale a run.
 */

import assert from "node:assert/strict";
import type { OutputStreamName } from "../../src/protocol/process.ts";
import { childrenOf, descriptorCount } from "../support/proc.ts";
import { Random } from "../support/random.ts";
import { RoundGrowth, WHOLE_COLLECTIONS } from "../support/round_growth.ts";
import { TestServer } from "../support/test_server.ts";
import { until } from "../support/until.ts";
import type { ProcessLedger } from "./process_ledger.ts";
import { READY, type SoakPlan, SoakPlanner } from "./soak_plan.ts";
import { SoakSession } from "./soak_session.ts";

const SEED = Number(Deno.env.get("SOAK_SEED") ?? Date.now() % 1_000_000);
const SPAWNS = Number(Deno.env.get("SOAK_SPAWNS") ?? 4500);
const SESSIONS = 4;
const AT_A_TIME = 12;
/** Every round opens its own sessions, so that what the server keeps for them has an end. */
const SPAWNS_PER_ROUND = 150;
/** Long enough for every resume on a busy machine, short enough for what a round has left to go during a longer run. */
const DETACHED_SESSION_TTL_MS = 10_000;
/** A largest write, so that input arrives in several. */
const MAX_WRITE_BYTES = 10_000;
/** 150 processes at 20 KiB: a closed process and its output hold more. */
const MAX_GROWTH_PER_ROUND_MB = 3;
/** The server looks for ended orphans every few seconds. */
const ORPHAN_LIMIT_MS = 60_000;

Deno.test(`${SPAWNS} processes over breaking connections are accounted for to the last byte (SOAK_SEED=${SEED})`, async () => {
  console.log(`SOAK_SEED=${SEED}`);
  const directory = await Deno.makeTempDir({ prefix: "soak-" });
  const server = await TestServer.start({
    args: ["--log-level", "warn", "--detached-session-ttl-ms", `${DETACHED_SESSION_TTL_MS}`],
    env: WHOLE_COLLECTIONS,
  });
  try {
    await soak(server, directory);
  } finally {
    await server[Symbol.asyncDispose]();
    await Deno.remove(directory, { recursive: true });
  }
  assert.equal(await server.log, "", "the server complained");
});

async function soak(server: TestServer, directory: string): Promise<void> {
  const planner = await SoakPlanner.prepare(directory, new Random(SEED));
  const rounds = Math.max(2, Math.ceil(SPAWNS / SPAWNS_PER_ROUND));
  const perRound = Math.ceil(SPAWNS / rounds);
  const descriptors: number[] = [];
  let cutCount = 0;
  await new RoundGrowth(server).settle({ rounds, maxMbPerRound: MAX_GROWTH_PER_ROUND_MB }, async (round) => {
    const first = round * perRound;
    cutCount += await runRound(server, planner, { first, last: first + perRound });
    await until(
      () => descriptorCount(server.pid) <= (descriptors[0] ?? Infinity),
      () => `${descriptorCount(server.pid)} descriptors after round ${round}, ${descriptors[0]} after the first`,
    );
    descriptors.push(descriptorCount(server.pid));
  });
  await until(
    () => processesOf(server).length === 0,
    () => `left behind: ${JSON.stringify(processesOf(server))}`,
    ORPHAN_LIMIT_MS,
  );
  const count = descriptors.length * perRound;
  console.log(`${count} processes, ${cutCount} cuts; descriptors ${descriptors.join(" ")}`);
  assert.ok(cutCount >= count / 20, `only ${cutCount} cuts: the run has shown nothing`);
}

/** Returns how often connections were cut. */
async function runRound(
  server: TestServer,
  planner: SoakPlanner,
  { first, last }: { first: number; last: number },
): Promise<number> {
  const sessions = await Promise.all(
    Array.from({ length: SESSIONS }, (_, index) => SoakSession.open(server.url, new Random(SEED + first + index))),
  );
  let next = first;
  await Promise.all(Array.from({ length: AT_A_TIME }, async (_, worker) => {
    const session = sessions[worker % SESSIONS]!;
    while (next < last) {
      const index = next++;
      const random = new Random(SEED ^ Math.imul(index + 1, 0x9e37_79b1));
      const plan = planner.plan(random);
      try {
        await runProcess(session, plan, { processId: `p${index}`, random });
      } catch (error) {
        throw new Error(`process ${index}: ${JSON.stringify(plan.io)} ${plan.script}`, { cause: error });
      }
    }
  }));
  await Promise.all(sessions.map((session) => session.end()));
  return sessions.reduce((sum, { cutCount }) => sum + cutCount, 0);
}

async function runProcess(
  session: SoakSession,
  plan: SoakPlan,
  { processId, random }: { processId: string; random: Random },
): Promise<void> {
  const { script, io } = plan;
  const env = { PATH: "/usr/bin:/bin" };
  const ledger = await session.start({ processId, argv: ["/bin/sh", "-c", script], cwd: "/", env, io });
  const stream = io.type === "pty" ? "pty" : "stdout";
  if (plan.input !== null) {
    await ledger.until(() => ledger.bytesOf(stream)[0] === READY.charCodeAt(0));
    await writeAll(session, processId, plan.input, random);
    if (io.type === "pipe") await session.call("process/closeStdin", { processId });
  }
  if (plan.isTerminated) {
    await ledger.until(() => ledger.bytesOf(stream).length > 0);
    await session.call("process/terminate", { processId });
  }
  await ledger.until(() => ledger.isComplete);
  session.forget(ledger);
  assert.equal(ledger.exitCode, plan.exitCode);
  for (const name of ["stdout", "stderr", "pty"] as const) await compareStream(ledger, plan, name);
}

async function writeAll(session: SoakSession, processId: string, bytes: Uint8Array, random: Random): Promise<void> {
  for (let at = 0; at < bytes.length;) {
    const chunk = bytes.subarray(at, at + 1 + random.int(MAX_WRITE_BYTES));
    const params = { processId, chunk: chunk.toBase64(), writeId: `from ${at}` };
    assert.deepEqual(await session.call("process/write", params), { status: "accepted" });
    at += chunk.length;
  }
}

async function compareStream(ledger: ProcessLedger, plan: SoakPlan, name: OutputStreamName): Promise<void> {
  const actual = ledger.bytesOf(name);
  const expected = plan.expected[name] ?? new Uint8Array();
  if (!plan.isTerminated) assert.equal(actual.length, expected.length, `bytes of ${name}`);
  assert.equal(await digest(actual), await digest(expected.slice(0, actual.length)), `digest of ${name}`);
}

async function digest(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex();
}

/** Everything the server is the parent of, zombies included, except its guard. */
function processesOf(server: TestServer) {
  return childrenOf(server.pid).filter(({ commandLine }) => !commandLine.includes("exec-server-guard"));
}
