/** What clients say of their processes takes no memory for longer than somebody can ask for it, however long it is. */

import { residentMb } from "../support/proc.ts";
import { TestServer } from "../support/test_server.ts";
import { until } from "../support/until.ts";

const START = { cwd: "/", env: { PATH: "/usr/bin:/bin" }, tty: false };

Deno.test("a closed process keeps nothing of its start that nobody asks for again, however long it was", async () => {
  await using server = await TestServer.start();
  await using client = await server.connect();
  const start = async (processId: string, fields: object) => {
    await client.call("process/start", { ...START, processId, argv: ["true"], ...fields });
    await client.call("process/wait", { processId });
  };
  for (let count = 0; count < 20; count++) await start(`warm${count}`, { arg0: "a".repeat(130_000) });
  const before = residentMb(server.pid);
  const grown = () => residentMb(server.pid) - before;
  for (let count = 0; count < 800; count++) await start(`named${count}`, { arg0: `${count}`.padEnd(130_000, "a") });
  await until(() => grown() < 60, () => `${grown()} MB for what a program was told as its name`);
  for (let count = 0; count < 60; count++) {
    await start(`called${count}`, { metadata: { toolCallId: `${count}`.padEnd(4_000_000, "t") } });
  }
  await until(() => grown() < 60, () => `${grown()} MB for what a client calls its work`);
});

Deno.test("a running process keeps no more of what its client calls it than the log shows", async () => {
  await using server = await TestServer.start();
  await using client = await server.connect();
  const start = async (count: number) => {
    const metadata = { toolCallId: `${count}`.padEnd(8_000_000, "t") };
    await client.call("process/start", { ...START, processId: `p${count}`, argv: ["sleep", "600"], metadata });
  };
  for (let count = 0; count < 3; count++) await start(count);
  const before = residentMb(server.pid);
  const grown = () => residentMb(server.pid) - before;
  for (let count = 3; count < 33; count++) await start(count);
  await until(() => grown() < 60, () => `${grown()} MB for 30 processes`);
});
