/**
 * Many sessions that end at once, as after the loss of a network: nothing is left, and others are answered meanwhile.
 * How long those wait is printed; `tests/process/posix/search_pacing_test.ts` shows, without a clock, why it is not long.
 */

import { childrenOf } from "../support/proc.ts";
import { TestServer } from "../support/test_server.ts";
import { until } from "../support/until.ts";

const SESSIONS = 200;

Deno.test(`${SESSIONS} sessions that expire together leave nothing`, async () => {
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
});
