/**
 * The registry's HTTP under fire: requests that no client sends. Whatever comes is answered with a status of ours or not
 * at all; nothing fails inside, nothing is let in, and nothing grows.
 */

import assert from "node:assert/strict";
import { proof } from "../support/proof.ts";
import type { Random } from "../support/random.ts";
import { inScratchDirectory } from "../support/scratch_directory.ts";
import { randomBytes } from "../support/seeds.ts";
import { TestRendezvous } from "../support/test_rendezvous.ts";

/** Requests under way at once. */
const AT_ONCE = 16;
/** A request that is held is given up after this: the rendezvous has to notice. */
const PATIENCE_MS = 30;
/**
 * Growth beyond the most of the first half: less than the collector leaves lying about. 300 bytes kept of each request of
 * the second half are more. Not beyond the middle: the collector may just have run there.
 */
const MAX_GROWTH_MIB = 30;
/** A program grows to its working size first, on some machines in more than half of the requests; a leak goes on. */
const MAX_ROUNDS = 3;
const MAX_KEPT_EXECUTORS = 50;
/** All that may be answered. 101 would be a websocket without a ticket. */
const STATUSES = [200, 400, 401, 403, 404, 405, 409, 411, 413, 429, 431, 501, 503, 505];

proof({
  name: "the registry answers any request, never fails, and keeps nothing",
  tries: 200_000,
  unit: "requests",
}, async ({ tries, random, remark }) => {
  await inScratchDirectory(async (directory) => {
    await using rendezvous = await TestRendezvous.start(directory, { args: ["--requests-per-second", "1000000"] });
    const tokens = [await rendezvous.token(["executor"]), await rendezvous.token(["client", "viewer"])];
    const seen = new Map<number, number>();
    const mibByTenth: number[] = [];
    let grownMib = Infinity;
    for (let round = 0; round < MAX_ROUNDS && grownMib >= MAX_GROWTH_MIB; round++) {
      let sent = 0;
      await Promise.all(Array.from({ length: AT_ONCE }, async () => {
        while (sent < tries) {
          if (++sent % Math.ceil(tries / 10) === 0) mibByTenth.push(residentMib(rendezvous.pid));
          const status = await exchange(rendezvous.port, makeRequest(random, tokens), random);
          seen.set(status, (seen.get(status) ?? 0) + 1);
        }
      }));
      const ofRound = mibByTenth.slice(-10);
      grownMib = ofRound.at(-1)! - Math.max(...ofRound.slice(0, 5));
    }
    const health = await fetch(`${rendezvous.url}/healthz`);
    assert.equal(health.status, 200);
    await health.body?.cancel();
    const headers = { authorization: `Bearer ${tokens[1]}` };
    const { executors } = await (await fetch(`${rendezvous.url}/executors`, { headers })).json();
    await rendezvous[Symbol.asyncDispose]();
    assert.equal((await rendezvous.status).code, 0);
    const log = await rendezvous.log;
    assert.doesNotMatch(log, /"level":"error"/);
    for (const token of tokens) assert.ok(!log.includes(token));
    assert.deepEqual([...seen.keys()].filter((status) => status !== 0 && !STATUSES.includes(status)), []);
    // Now and then a changed byte makes another id. They are forgotten when nobody comes for a minute.
    assert.ok(executors.length <= MAX_KEPT_EXECUTORS, `${executors.length} executors are kept`);
    assert.ok((seen.get(200) ?? 0) > 0 && (seen.get(400) ?? 0) > 0 && (seen.get(401) ?? 0) > 0, "all kinds were met");
    assert.ok(grownMib < MAX_GROWTH_MIB, `grown by ${grownMib} MiB`);
    remark(
      [...seen].sort(([a], [b]) => a - b).map(([status, count]) => `${status || "no answer"}: ${count}`).join(", "),
    );
    remark(`resident after each tenth: ${mibByTenth.join(", ")} MiB`);
  });
});

const IDS = ["box-1", "box-2", "a", "A".repeat(253)];
const ODD_IDS = ["", "..", "a%2fb", "a b", "\u00ff", "A".repeat(254), "-x", "a?b", "*"];
const PATHS = [
  "/cloud/executor/ID/register",
  "/cloud/environment/ID/register",
  "/cloud/environment/ID/connect",
  "/cloud/environment/ID/validate",
  "/cloud/environment/ID/direct/register",
  "/rendezvous/executor/ID",
  "/rendezvous/harness/ID",
  "/connect/ID",
  "/executors",
  "/healthz",
  "/",
];

function makeRequest(random: Random, tokens: readonly string[]): Uint8Array {
  if (random.int(20) === 0) return randomBytes(random, random.int(400));
  const id = random.int(4) === 0 ? random.pick(ODD_IDS) : random.pick(IDS);
  const query = random.pick([
    "",
    "",
    "?ticket=",
    "?ticket=e30.AAAA",
    `?ticket=${"x".repeat(random.int(3000))}`,
    "?role=harness",
  ]);
  const path = random.pick(PATHS).replace("ID", id) + query;
  const body = makeBody(random);
  const fields = [
    `Host: ${random.pick(["x", "127.0.0.1", "[::1]:8", "a..b", ""])}`,
    random.pick([
      `Content-Length: ${body.length}`,
      `Content-Length: ${random.int(100_000)}`,
      "Transfer-Encoding: chunked",
    ]),
    `Authorization: ${makeAuthorization(random, tokens)}`,
    ...(random.int(3) === 0
      ? ["Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: x"]
      : []),
    ...(random.int(30) === 0 ? ["Origin: https://page.example"] : []),
    ...(random.int(30) === 0 ? [`X-Odd: ${"y".repeat(random.int(20_000))}`] : []),
  ].filter(() => random.int(12) !== 0);
  const usual = path.startsWith("/cloud/") ? "POST" : "GET";
  const method = random.int(5) > 0 ? usual : random.pick(["POST", "GET", "HEAD", "PUT", "DELETE", "get", "PRI"]);
  const head = `${method} ${path} HTTP/1.${random.int(10) === 0 ? random.int(3) : 1}\r\n${fields.join("\r\n")}\r\n\r\n`;
  const bytes = new TextEncoder().encode(head + body);
  // Now and then something is not as it was meant.
  for (let changes = random.int(8) === 0 ? 1 + random.int(4) : 0; changes > 0; changes--) {
    bytes[random.int(bytes.length)] = random.int(256);
  }
  return random.int(10) === 0 ? bytes.subarray(0, random.int(bytes.length)) : bytes;
}

function makeAuthorization(random: Random, tokens: readonly string[]): string {
  // Requests of clients with a good token are held until their executor comes, which it never does: few of those.
  const [executor, client] = tokens as [string, string];
  const token = random.pick([executor, executor, executor, "wrong", "", `${executor}x`]);
  if (random.int(50) === 0) return `Bearer ${client}`;
  return random.pick([`Bearer ${token}`, `Bearer ${token}`, `bearer ${token}`, `Basic ${token}`, token]);
}

const KEY = {
  suite: "Noise_hybridIK_X25519+MLKEM768_AESGCM_SHA256",
  x25519_public_key: new Uint8Array(32).toBase64(),
  mlkem768_public_key: new Uint8Array(1184).toBase64(),
};

function makeBody(random: Random): string {
  const valid = random.pick([
    { idempotency_id: "p", executor_id: "box-1", name: "n", labels: {}, metadata: { version: "1" } },
    { security_profile: "noise_hybrid_ik_v1", executor_public_key: KEY },
    { harness_public_key: KEY },
    { executor_registration_id: "r", harness_public_key: KEY, harness_key_authorization: "e30.AAAA" },
  ]) as Record<string, unknown>;
  switch (random.int(6)) {
    case 0:
      return "";
    case 1: {
      const members = Object.keys(valid);
      const odd = [null, 1, "", [], {}, "x".repeat(random.int(500)), { suite: "x" }, true];
      return JSON.stringify({ ...valid, [random.pick(members)]: random.pick(odd) });
    }
    case 2:
      return "[".repeat(random.int(16_000));
    case 3:
      return random.pick(["null", "[]", "1", '"x"', "{", '{"__proto__":{"idempotency_id":"p"}}', "\u0000", "{}{}"]);
    default:
      return JSON.stringify(valid);
  }
}

/** The status of the answer, or 0 when there is none in time. */
async function exchange(port: number, bytes: Uint8Array, random: Random): Promise<number> {
  const conn = await Deno.connect({ hostname: "127.0.0.1", port });
  const timer = setTimeout(() => closeQuietly(conn), PATIENCE_MS);
  try {
    const cut = random.int(5) === 0 ? random.int(bytes.length + 1) : bytes.length;
    for (const part of [bytes.subarray(0, cut), bytes.subarray(cut)]) {
      for (let at = 0; at < part.length;) at += await conn.write(part.subarray(at));
    }
    await conn.closeWrite();
    const answer = new Uint8Array(64);
    const read = await conn.read(answer);
    const line = new TextDecoder().decode(answer.subarray(0, read ?? 0));
    if (line === "") return 0;
    const status = /^HTTP\/1\.1 (\d{3}) /.exec(line)?.[1];
    assert.ok(status !== undefined, `no status line: ${JSON.stringify(line)}`);
    return Number(status);
  } catch (error) {
    if (error instanceof assert.AssertionError) throw error;
    return 0; // Given up, or closed by the rendezvous while it was sent to.
  } finally {
    clearTimeout(timer);
    closeQuietly(conn);
  }
}

function closeQuietly(conn: Deno.Conn): void {
  try {
    conn.close();
  } catch {
    // Closed already.
  }
}

function residentMib(pid: number): number {
  return Math.round(Number(/^VmRSS:\s+(\d+) kB/m.exec(Deno.readTextFileSync(`/proc/${pid}/status`))![1]) / 1024);
}
