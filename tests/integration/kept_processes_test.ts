import assert from "node:assert/strict";
import { TestServer } from "../support/test_server.ts";

const START = { argv: ["sh", "-c", "echo up; exec sleep 1000"], cwd: "/", env: { PATH: "/usr/bin:/bin" }, tty: false };

Deno.test("a process that asks for it outlives its session, is listed, read and ended by others, and ends with the server", async () => {
  const server = await TestServer.start({ args: ["--detached-session-ttl-ms", "1"] });
  const first = await server.connect();
  const events = first.follow("dev");
  await first.call("process/start", { ...START, processId: "dev", keepOnSessionEnd: true });
  await first.call("process/start", { ...START, processId: "other", keepOnSessionEnd: true });
  await first.call("process/start", { ...START, processId: "gone" });
  await events.next();
  const running = (await first.call("process/list", null)).processes;
  assert.deepEqual(running.map(({ processId, kept }) => [processId, kept]), [
    ["dev", false],
    ["other", false],
    ["gone", false],
  ]);
  await first.close();

  const second = await server.connect();
  let listed = await second.call("process/list", null);
  while (listed.processes.length < 2) listed = await second.call("process/list", null);
  assert.deepEqual(listed.processes.map(({ processId, kept, exited }) => [processId, kept, exited]), [
    ["dev", true, false],
    ["other", true, false],
  ]);
  const { chunks } = await second.call("process/read", { processId: "dev" });
  assert.equal(atob(chunks[0]!.chunk), "up\n");
  await assert.rejects(second.call("process/read", { processId: "gone" }), /unknown process id gone/);
  assert.deepEqual(await second.call("process/terminate", { processId: "dev" }), { running: true });
  assert.equal((await second.call("process/wait", { processId: "dev" })).exitCode, 137);
  await second.close();

  const other = listed.processes[1]!.pid!;
  server.kill("SIGTERM");
  await server.status;
  assert.throws(() => Deno.kill(other, "SIGCONT"), Deno.errors.NotFound);
  await server[Symbol.asyncDispose]();
});

Deno.test("the server's flag makes keeping the default, and a start may still say no", async () => {
  const args = ["--detached-session-ttl-ms", "1", "--keep-processes-on-session-end"];
  await using server = await TestServer.start({ args });
  const first = await server.connect();
  await first.call("process/start", { ...START, processId: "kept" });
  await first.call("process/start", { ...START, processId: "gone", keepOnSessionEnd: false });
  await first.close();
  await using second = await server.connect();
  let listed = await second.call("process/list", null);
  while (listed.processes.length === 0) listed = await second.call("process/list", null);
  assert.deepEqual(listed.processes.map(({ processId }) => processId), ["kept"]);
});
