/** Lists that are too long for one answer: in pages, none lost and none twice, whoever comes and goes meanwhile. */

import assert from "node:assert/strict";
import type { ProcessListEntry, ProcessListParams, ProcessListResult } from "../../src/protocol/process.ts";
import type { Client } from "../support/rpc_client.ts";
import { TestServer } from "../support/test_server.ts";

const MIB = 1024 * 1024;
/** Some 1.5 MiB: two of them fit into one answer, three do not. One argument may have 128 KiB at most. */
const LONG_ARGV = ["true", ...new Array<string>(15).fill("x".repeat(100_000))];

async function run(client: Client, processId: string, more: { keepOnSessionEnd?: boolean } = {}): Promise<void> {
  const request = { argv: LONG_ARGV, cwd: "/", env: { PATH: "/usr/bin:/bin" }, tty: false, processId };
  await client.call("process/start", { ...request, ...more });
  await client.call("process/wait", { processId });
}

async function pagesOf(client: Client, params: ProcessListParams): Promise<ProcessListEntry[][]> {
  const pages: ProcessListEntry[][] = [];
  let after: string | undefined;
  for (;;) {
    const page: ProcessListResult = await client.call("process/list", {
      ...params,
      ...after !== undefined && { after },
    });
    assert(JSON.stringify(page).length < 4.5 * MIB);
    pages.push(page.processes);
    after = page.nextAfter;
    if (after === undefined) return pages;
  }
}

const idsOf = (pages: ProcessListEntry[][]) => pages.map((page) => page.map(({ processId }) => processId));

Deno.test("a long list comes in several answers: first the processes of the session, then those of others", async () => {
  await using server = await TestServer.start();
  await using other = await server.connect();
  await using client = await server.connect();
  await run(other, "o1", { keepOnSessionEnd: true });
  await run(client, "p1");
  await run(other, "private");
  await run(client, "p2");
  await run(client, "p3");
  await run(other, "o2", { keepOnSessionEnd: true });
  const pages = await pagesOf(client, { scope: "server" });
  assert.deepEqual(idsOf(pages), [["p1", "p2"], ["p3", "o1"], ["o2"]]);
  assert.deepEqual(pages[0]![0]!.argv, LONG_ARGV);
  assert.deepEqual(idsOf(await pagesOf(client, { scope: "session" })), [["p1", "p2"], ["p3"]]);
});

Deno.test("a list continues at its place although the process there is forgotten", async () => {
  await using server = await TestServer.start({ args: ["--max-closed-processes", "3"] });
  await using client = await server.connect();
  for (const processId of ["p1", "p2", "p3"]) await run(client, processId);
  const { processes, nextAfter } = await client.call("process/list", null);
  assert.deepEqual(processes.map(({ processId }) => processId), ["p1", "p2"]);
  await run(client, "p4");
  await run(client, "p5");
  const rest = await client.call("process/list", { after: nextAfter });
  assert.deepEqual(rest.processes.map(({ processId }) => processId), ["p3", "p4"], "p2 is gone, and p3 still next");
});

Deno.test("an invalid place in a list is refused", async () => {
  await using server = await TestServer.start();
  await using client = await server.connect();
  for (const after of ["", "p1", "own-", "own-1e9", "their-1"]) {
    await assert.rejects(client.call("process/list", { after }), /after must be a `nextAfter` of an earlier answer/);
  }
});
