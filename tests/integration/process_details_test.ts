/** What `process/list` tells of a whole process tree: processor time, memory, ports. */

import assert from "node:assert/strict";
import type { Client } from "../support/rpc_client.ts";
import { TestServer } from "../support/test_server.ts";

/** Works until the kernel, which counts in hundredths of a second, has noticed. Listens on both loopback addresses and says where. */
const LISTENING = `
  const ticks = () => Number(Deno.readTextFileSync("/proc/self/stat").replace(/^.*\\) /, "").split(" ")[11]);
  while (ticks() < 2);
  const one = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const two = Deno.listen({ hostname: "::1", port: 0 });
  console.log(one.addr.port, two.addr.port);
  await one.accept();
`;

async function details(client: Client, processId: string) {
  const { processes } = await client.call("process/list", { scope: "session", details: true });
  return processes.find((process) => process.processId === processId)!;
}

Deno.test("details tell what a process uses with its descendants, and where they listen", async () => {
  await using server = await TestServer.start();
  await using client = await server.connect();
  assert.equal(client.environmentInfo.capabilities.processDetails, true);
  const before = Date.now();
  const events = client.follow("p");
  const env = { PATH: "/usr/bin:/bin", HOME: Deno.env.get("HOME") ?? "/", NO_COLOR: "1" };
  const argv = ["sh", "-c", '"$0" eval --no-lock "$1" & wait', Deno.execPath(), LISTENING];
  await client.call("process/start", { processId: "p", argv, cwd: "/", env, tty: false });
  let text = "";
  for await (const { method, params } of events) {
    if (method === "process/output") text += atob(params.chunk);
    if (text.includes("\n") || method === "process/closed") break;
  }
  const ports = text.trim().split(" ").map(Number);
  assert.equal(ports.length, 2, text);

  const running = await details(client, "p");
  const { details: used, pid } = running;
  assert.deepEqual(
    used!.ports.map(({ address, port }) => `${address} ${port}`).sort(),
    [`127.0.0.1 ${ports[0]}`, `::1 ${ports[1]}`].sort(),
  );
  assert.ok(used!.ports.every((port) => port.pid !== pid && port.pid > 1), "a descendant listens");
  assert.equal(used!.processCount, 2);
  assert.ok(used!.memoryBytes! > 10_000_000, `${used!.memoryBytes}`);
  assert.ok(used!.cpuMs! > 0, `${used!.cpuMs}`);
  assert.ok(used!.startedAtMs >= before - 1 && used!.startedAtMs <= Date.now());
  assert.ok(used!.lastOutputAtMs! >= used!.startedAtMs && used!.lastOutputAtMs! <= Date.now());
  const { processes: [plain] } = await client.call("process/list", { scope: "session" });
  assert.equal(plain!.details, undefined, "who does not ask is not told");

  await client.call("process/terminate", { processId: "p", tree: true });
  await client.call("process/wait", { processId: "p" });
  const { details: ended } = await details(client, "p");
  assert.deepEqual(
    [ended!.cpuMs, ended!.memoryBytes, ended!.processCount, ended!.ports, ended!.startedAtMs <= Date.now()],
    [null, null, 0, [], true],
  );
});

Deno.test("a silent process has no last output, and many looks at once are one after another", async () => {
  await using server = await TestServer.start();
  await using client = await server.connect();
  for (let index = 0; index < 20; index++) {
    const start = { argv: ["sleep", "1000"], cwd: "/", env: { PATH: "/usr/bin:/bin" }, tty: false };
    await client.call("process/start", { ...start, processId: `${index}` });
  }
  const looks = await Promise.all(Array.from({ length: 10 }, () => client.call("process/list", { details: true })));
  for (const { processes } of looks) {
    assert.equal(processes.length, 20);
    for (const { details } of processes) {
      assert.deepEqual([details!.lastOutputAtMs, details!.processCount, details!.ports], [null, 1, []]);
    }
  }
});
