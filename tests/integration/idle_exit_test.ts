import assert from "node:assert/strict";
import { runCli, TestServer } from "../support/test_server.ts";

/** Longer than a busy machine takes to connect. */
const IDLE_MS = 3000;
/** Longer than that. */
const RUN_MS = 4000;

Deno.test("a server that is idle ends by itself, and not while a process runs that outlived its session", async () => {
  const args = ["--idle-exit", `${IDLE_MS}ms`, "--detached-session-ttl-ms", "1"];
  const server = await TestServer.start({ args });
  const client = await server.connect();
  const begun = performance.now();
  const argv = ["sleep", String(RUN_MS / 1000)];
  const start = { processId: "p", argv, cwd: "/", env: { PATH: "/usr/bin:/bin" }, tty: false, keepOnSessionEnd: true };
  await client.call("process/start", start);
  await client.close();
  assert.equal((await server.status).code, 0);
  const tookMs = performance.now() - begun;
  // It looks at the process now and then: see `idle_exit.ts`.
  assert.ok(tookMs >= RUN_MS + IDLE_MS * 7 / 8, `after ${tookMs} ms`);
  assert.match(await server.log, /idle exit/);
});

Deno.test("--idle-exit takes a duration, and refuses anything else", async () => {
  for (const wrong of ["5", "soon", "0s", "-1m", "1.5x", "99999d"]) {
    const { code, stderr } = await runCli([`--idle-exit=${wrong}`]);
    assert.equal(code, 2, stderr);
    assert.match(stderr, /--idle-exit must be a duration such as 90s, 30m or 2h, at most 24d, not "/);
  }
});
