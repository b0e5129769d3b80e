/** Many sessions that end at once, as after the loss of a network: nobody else has to wait for it, and nothing is left. */

import assert from "node:assert/strict";
import { childrenOf } from "../support/proc.ts";
import { TestServer } from "../support/test_server.ts";
import { until } from "../support/until.ts";

const SESSIONS = 200;
/** A fraction of this on an idle machine. Looking through all processes once per session takes many times as long. */
const MAX_CALL_MS = 1_500;

Deno.test(`${SESSIONS} sessions that expire together hold up nobody for ${MAX_CALL_MS} ms, and leave nothing`, async () => {
  await using server = await TestServer.start({ args: ["--detached-session-ttl-ms", "200", "--log-level", "error"] });
  await using other = await server.connect();
  const clients = await Promise.all(Array.from({ length: SESSIONS }, () => server.connect()));
  const params = { processId: "p", argv: ["sleep", "1000"], cwd: "/", env: { PATH: "/usr/bin:/bin" }, tty: false };
  for (const client of clients) await client.call("process/start", params);
  const sleepers = () => childrenOf(server.pid).filter(({ commandLine }) => commandLine === "sleep 1000").length;
  // A start is answered a moment before the new program's command line can be seen.
  await until(() => sleepers() === SESSIONS, () => `${sleepers()} of ${SESSIONS} processes are there`);

  await Promise.all(clients.map((client) => client.close()));
  let longestMs = 0;
  while (sleepers() > 0) {
    const startedAtMs = performance.now();
    await other.call("environment/status", null);
    longestMs = Math.max(longestMs, performance.now() - startedAtMs);
  }
  console.log(`longest call: ${longestMs.toFixed(0)} ms`);
  assert.ok(longestMs < MAX_CALL_MS, `a call took ${longestMs.toFixed(0)} ms`);
});
