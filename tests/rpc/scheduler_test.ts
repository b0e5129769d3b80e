import assert from "node:assert/strict";
import { AnswerBudget, SharedAnswers } from "../../src/rpc/answer_budget.ts";
import type { ClaimMode } from "../../src/rpc/claim_line.ts";
import { type Claim, type Job, type Lane, Scheduler } from "../../src/rpc/scheduler.ts";
import { Random } from "../support/random.ts";

const UNBOUNDED = { maxConcurrent: null, maxInFlight: Infinity, maxInFlightBytes: Infinity, maxWaiting: Infinity };

/** A job that runs until it is told to finish. */
class ManualJob implements Job {
  readonly lane: Lane;
  readonly claims: readonly Claim[];
  readonly bytes = 1;
  hasBegun = false;
  hasFinished = false;
  readonly #done = Promise.withResolvers<void>();

  constructor(claims: Record<string, ClaimMode>, lane: Lane = "ordinary") {
    this.lane = lane;
    this.claims = Object.entries(claims).map(([resource, mode]) => ({ resource, mode }));
  }

  run(): Promise<void> {
    this.hasBegun = true;
    return this.#done.promise;
  }

  /** Resolves when the scheduler has acted on it. */
  async finish(): Promise<void> {
    this.hasFinished = true;
    this.#done.resolve();
    await this.#done.promise;
    await Promise.resolve();
  }
}

function submitAll(scheduler: Scheduler, jobs: readonly ManualJob[]): boolean[] {
  for (const job of jobs) scheduler.submit(job);
  return jobs.map((job) => job.hasBegun);
}

Deno.test("Scheduler runs reads together and keeps a write between what came before and after", async () => {
  const scheduler = new Scheduler(UNBOUNDED);
  const [readA, readB, write, readC] = ["shared", "shared", "exclusive", "shared"].map((mode) => {
    return new ManualJob({ files: mode as ClaimMode });
  }) as [ManualJob, ManualJob, ManualJob, ManualJob];
  assert.deepEqual(submitAll(scheduler, [readA, readB, write, readC]), [true, true, false, false]);
  await readB.finish();
  assert.equal(write.hasBegun, false);
  await readA.finish();
  assert.deepEqual([write.hasBegun, readC.hasBegun], [true, false]);
  await write.finish();
  assert.equal(readC.hasBegun, true);
});

Deno.test("Scheduler lets a pass claim wait for an earlier exclusive one without delaying others", async () => {
  const scheduler = new Scheduler(UNBOUNDED);
  const start = new ManualJob({ "process:p": "exclusive" });
  const poll = new ManualJob({ "process:p": "pass" }, "waiting");
  const again = new ManualJob({ "process:p": "exclusive" });
  assert.deepEqual(submitAll(scheduler, [start, poll, again]), [true, false, false]);
  await start.finish();
  assert.deepEqual([poll.hasBegun, again.hasBegun], [true, true], "the open poll does not delay the next start");
});

Deno.test("Scheduler lets control work past input that is stuck", () => {
  const scheduler = new Scheduler(UNBOUNDED);
  const write = () => new ManualJob({ "process:p": "pass", "stdin:p": "exclusive" });
  const terminate = new ManualJob({ "process:p": "pass" }, "control");
  assert.deepEqual(submitAll(scheduler, [write(), write(), write(), terminate]), [true, false, false, true]);
});

Deno.test("Scheduler runs a synchronous job before submit returns", () => {
  const scheduler = new Scheduler(UNBOUNDED);
  let ran = false;
  scheduler.submit({ lane: "ordinary", claims: [], bytes: 1, run: () => void (ran = true) });
  assert.equal(ran, true);
  assert.equal(scheduler.pending, 0);
});

Deno.test("Scheduler unwinds twenty thousand waiting jobs without recursion", async () => {
  const scheduler = new Scheduler(UNBOUNDED);
  const first = new ManualJob({ r: "exclusive" });
  scheduler.submit(first);
  let ran = 0;
  for (let i = 0; i < 20_000; i++) {
    const claims: Claim[] = [{ resource: "r", mode: "exclusive" }];
    scheduler.submit({ lane: "ordinary", claims, bytes: 1, run: () => void ran++ });
  }
  await first.finish();
  assert.equal(ran, 20_000);
});

Deno.test("Scheduler bounds ordinary jobs and nothing else", async () => {
  const scheduler = new Scheduler({ ...UNBOUNDED, maxConcurrent: 2 });
  const jobs = [new ManualJob({}), new ManualJob({}), new ManualJob({}), new ManualJob({})];
  assert.deepEqual(submitAll(scheduler, jobs), [true, true, false, false]);
  const [control, waiting] = [new ManualJob({}, "control"), new ManualJob({}, "waiting")];
  assert.deepEqual(submitAll(scheduler, [control, waiting]), [true, true]);
  await jobs[1]!.finish();
  assert.deepEqual(jobs.map((job) => job.hasBegun), [true, true, true, false]);
});

Deno.test("Scheduler reports fullness by count and by bytes, and long polls never make it full", async () => {
  const scheduler = new Scheduler({ maxConcurrent: null, maxInFlight: 2, maxInFlightBytes: 100, maxWaiting: 1 });
  assert.equal(scheduler.submit(new ManualJob({}, "waiting")), true);
  assert.equal(scheduler.submit(new ManualJob({}, "waiting")), false, "one poll too many is refused");
  assert.equal(scheduler.isFull, false);
  const [a, b] = [new ManualJob({}), new ManualJob({})];
  submitAll(scheduler, [a, b]);
  assert.equal(scheduler.isFull, true);
  const room = scheduler.whenRoom();
  await a.finish();
  await room;
  assert.equal(scheduler.isFull, false);
  await b.finish();
  const large: Job = { lane: "ordinary", claims: [], bytes: 100, run: () => new Promise(() => {}) };
  scheduler.submit(large);
  assert.equal(scheduler.isFull, true);
  const closed = scheduler.whenRoom();
  scheduler.close();
  await closed;
});

Deno.test("Scheduler.close() forgets what has not begun", async () => {
  const scheduler = new Scheduler(UNBOUNDED);
  const running = new ManualJob({ r: "exclusive" });
  const waiting = new ManualJob({ r: "exclusive" });
  submitAll(scheduler, [running, waiting]);
  scheduler.close();
  await running.finish();
  assert.equal(waiting.hasBegun, false);
});

Deno.test("Scheduler keeps its promises over thousands of generated schedules", async () => {
  const seed = 77;
  const random = new Random(seed);
  for (let round = 0; round < 3000; round++) await runSchedule(random, `seed ${seed} round ${round}`);
});

/** Random jobs submitted and finished in random order, checked against the definition of the claims after every step. */
async function runSchedule(random: Random, label: string): Promise<void> {
  const maxConcurrent = random.chance(0.3) ? 1 + random.int(3) : null;
  const scheduler = new Scheduler({ ...UNBOUNDED, maxConcurrent });
  const jobs: ManualJob[] = [];
  let remaining = 4 + random.int(14);
  for (;;) {
    const running = jobs.filter((job) => job.hasBegun && !job.hasFinished);
    if (remaining > 0 && (running.length === 0 || random.chance(0.6))) {
      const job = randomJob(random);
      jobs.push(job);
      scheduler.submit(job);
      remaining--;
    } else if (running.length > 0) await random.pick(running).finish();
    else break;
    checkSchedule(jobs, maxConcurrent, label);
  }
  assert.ok(jobs.every((job) => job.hasFinished), `${label}: a job never ran`);
  assert.equal(scheduler.pending, 0, label);
}

function randomJob(random: Random): ManualJob {
  const claims: Record<string, ClaimMode> = {};
  for (const resource of ["a", "b", "c"]) {
    if (random.chance(0.4)) claims[resource] = random.pick(["pass", "shared", "exclusive"] as const);
  }
  return new ManualJob(claims, random.pick(["ordinary", "ordinary", "control", "waiting"] as const));
}

function checkSchedule(jobs: readonly ManualJob[], maxConcurrent: number | null, label: string): void {
  const ordinary = jobs.filter((job) => job.lane === "ordinary" && job.hasBegun && !job.hasFinished).length;
  assert.ok(maxConcurrent === null || ordinary <= maxConcurrent, `${label}: bound exceeded`);
  jobs.forEach((job, index) => {
    const earlier = jobs.slice(0, index).filter((other) => !other.hasFinished && conflicts(other, job));
    if (job.hasBegun && !job.hasFinished) {
      assert.equal(earlier.length, 0, `${label}: job ${index} overtook one it must follow`);
    }
    const isHeldByBound = job.lane === "ordinary" && maxConcurrent !== null && ordinary >= maxConcurrent;
    if (!job.hasBegun && !isHeldByBound) {
      assert.ok(earlier.length > 0, `${label}: job ${index} waits for nothing`);
    }
  });
}

/** Whether `later` must wait until `earlier` has finished, by the definition of the modes. */
function conflicts(earlier: ManualJob, later: ManualJob): boolean {
  return later.claims.some(({ resource, mode }) => {
    const other = earlier.claims.find((claim) => claim.resource === resource)?.mode;
    if (other === undefined || other === "pass") return false;
    return other === "exclusive" || mode === "exclusive";
  });
}

/** A job with a long answer that is made at once and leaves when it is told to. */
function answering(answers: AnswerBudget, ran: string[], name: string, answerBytes: number, lane: Lane = "ordinary") {
  const job: Job = { lane, claims: [], bytes: 1, answerBytes, run: () => void ran.push(name) };
  return { job, leave: () => answers.give(answerBytes) };
}

Deno.test("Scheduler begins long answers as their bytes come free, in order, and lets all else pass", () => {
  const answers = new AnswerBudget({ limit: 100, floor: 0, shared: new SharedAnswers(Infinity) });
  const scheduler = new Scheduler({ ...UNBOUNDED, answers });
  const ran: string[] = [];
  const first = answering(answers, ran, "first", 80);
  const second = answering(answers, ran, "second", 40);
  for (const { job } of [first, second, answering(answers, ran, "third", 10)]) scheduler.submit(job);
  assert.deepEqual(ran, ["first"], "third would fit, but second waits before it");
  scheduler.submit(answering(answers, ran, "short", 0).job);
  scheduler.submit(answering(answers, ran, "control", 10, "control").job);
  scheduler.submit(answering(answers, ran, "poll", 10, "waiting").job);
  assert.deepEqual(ran, ["first", "short", "control", "poll"]);
  first.leave();
  assert.deepEqual(ran.slice(4), ["second", "third"]);
  assert.equal(scheduler.pending, 0);
});

Deno.test("Scheduler that runs one job at a time lets nothing pass a long answer", () => {
  const answers = new AnswerBudget({ limit: 100, floor: 0, shared: new SharedAnswers(Infinity) });
  const scheduler = new Scheduler({ ...UNBOUNDED, maxConcurrent: 1, answers });
  const ran: string[] = [];
  const first = answering(answers, ran, "first", 80);
  for (const { job } of [first, answering(answers, ran, "second", 40), answering(answers, ran, "short", 0)]) {
    scheduler.submit(job);
  }
  assert.deepEqual(ran, ["first"]);
  first.leave();
  assert.deepEqual(ran, ["first", "second", "short"]);
});

Deno.test("Scheduler gives others a turn when many jobs become ready at once, and keeps their order", async () => {
  let turns = 0;
  const scheduler = new Scheduler({ ...UNBOUNDED, turn: () => Promise.resolve(void turns++) });
  const gate = new ManualJob({ files: "exclusive" });
  scheduler.submit(gate);
  const ran: number[] = [];
  for (let number = 0; number < 40; number++) {
    const run = () => {
      const end = performance.now() + 0.5;
      while (performance.now() < end);
      ran.push(number);
    };
    scheduler.submit({ lane: "ordinary", claims: [{ resource: "files", mode: "shared" }], bytes: 1, run });
  }
  await gate.finish();
  assert.ok(ran.length < 40, "not all in one go");
  await scheduler.whenIdle();
  assert.deepEqual(ran, Array.from({ length: 40 }, (_, number) => number));
  assert.ok(turns >= 4, `${turns} turns in 20 ms`);
});

Deno.test("Scheduler.whenIdle() waits for all jobs that end by themselves, and not for long polls", async () => {
  const scheduler = new Scheduler(UNBOUNDED);
  const [ordinary, request, poll] = [new ManualJob({}), new ManualJob({}, "waiting"), new ManualJob({}, "waiting")];
  submitAll(scheduler, [ordinary, request, poll]);
  const news = Promise.withResolvers<string>();
  let isIdle = false;
  const idle = scheduler.whenIdle().then(() => isIdle = true);
  await ordinary.finish();
  const parked = scheduler.parked(news.promise);
  await settled();
  assert.equal(isIdle, false, "a request of the waiting lane ends by itself");
  await request.finish();
  await idle;
  await scheduler.whenIdle();

  // What it waited for has come: now it ends by itself, too.
  news.resolve("news");
  assert.equal(await parked, "news");
  isIdle = false;
  const again = scheduler.whenIdle().then(() => isIdle = true);
  await settled();
  assert.equal(isIdle, false);
  await poll.finish();
  await again;

  // The last one may be parked, or fail there.
  submitAll(scheduler, [new ManualJob({}, "waiting")]);
  const woken = scheduler.whenIdle();
  await assert.rejects(scheduler.parked(Promise.reject(new Error("gone"))), /gone/);
  await woken;
});

/** Lets every promise that can settle do so. */
function settled(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}
