import assert from "node:assert/strict";
import type { SandboxReport } from "../../src/protocol/environment.ts";
import type { Client } from "../support/rpc_client.ts";
import { namedIfSkipped, namesIn, NO_SANDBOX } from "../support/sandbox_host.ts";
import { inScratchDirectory } from "../support/scratch_directory.ts";
import { TestServer } from "../support/test_server.ts";

const WORKSPACE_WRITE = { type: "workspace-write", network_access: false, writable_roots: [] };

async function writeConfined(client: Client, directory: string, name: string): Promise<void> {
  const sandbox = { sandboxPolicy: WORKSPACE_WRITE, cwd: directory };
  await client.call("fs/writeFile", { path: `${directory}/${name}`, dataBase64: "", sandbox });
}

/** What a server that has ended wrote to its log, without the usual lines. */
async function linesAbout(server: TestServer, word: RegExp): Promise<Record<string, unknown>[]> {
  const lines = (await server.log).trimEnd().split("\n").map((line) => JSON.parse(line));
  return lines.filter(({ message }) => word.test(message));
}

Deno.test("environmentInfo names the setting, and stays the same when the machine has been looked at", async () => {
  await using server = await TestServer.start({ args: ["--sandbox", "landlock"] });
  const client = await server.connect();
  assert.deepEqual(client.environmentInfo.sandbox, { setting: "landlock" });
  assert.equal(client.environmentInfo.capabilities.sandboxReport, true);
  await client.call("environment/sandbox", null);
  assert.deepEqual(await client.call("environment/info", null), client.environmentInfo);
});

Deno.test({
  name: namedIfSkipped("environment/sandbox tells what works here, and the log names what is used, once"),
  ignore: NO_SANDBOX !== null,
  fn: () =>
    inScratchDirectory(async (directory) => {
      const server = await TestServer.start({ args: ["--log", "json"] });
      let report: SandboxReport;
      {
        await using _server = server;
        const client = await server.connect();
        await writeConfined(client, directory, "a");
        await writeConfined(client, directory, "b");
        report = await client.call("environment/sandbox", null);
        await assert.rejects(client.call("environment/sandbox", { verbose: true } as never), /verbose/);
      }
      const { setting, bubblewrap, landlock } = report;
      assert.equal(setting, "auto");
      assert.deepEqual(Object.keys(landlock), ["works", "path", "version", "reason", "problem"]);
      const { path, version } = bubblewrap;
      assert.deepEqual(bubblewrap, { works: true, path, version, reason: null, problem: null });
      const told = await linesAbout(server, /sandboxes are made with/);
      assert.deepEqual(told.map(({ level, path, version }) => [level, path, version]), [["info", path, version]]);
    }),
});

Deno.test("the first sandbox that is refused is logged with its reason, and no other", async () => {
  await inScratchDirectory(async (directory) => {
    const server = await TestServer.start({ args: ["--log", "json", "--sandbox", "refuse"] });
    {
      await using _server = server;
      const client = await server.connect();
      await assert.rejects(writeConfined(client, directory, "a"), /--sandbox refuse/);
      await assert.rejects(writeConfined(client, directory, "b"), /--sandbox refuse/);
    }
    const told = await linesAbout(server, /^a sandbox was refused$/);
    assert.equal(told.length, 1);
    assert.match(String(told[0]!.reason), /--sandbox refuse/);
  });
});

Deno.test({
  name: namedIfSkipped("a server whose directory is deleted goes on, confines as before, and ends when it is told to"),
  ignore: NO_SANDBOX !== null,
  fn: () =>
    inScratchDirectory(async (directory) => {
      const cwd = `${directory}/gone`;
      await Deno.mkdir(cwd);
      const server = await TestServer.start({ cwd });
      {
        await using _server = server;
        await Deno.remove(cwd);
        const client = await server.connect();
        const report: SandboxReport = await client.call("environment/sandbox", null);
        assert.deepEqual([report.bubblewrap.works, report.bubblewrap.reason], [true, null]);
        await writeConfined(client, directory, "confined");
        const argv = ["sh", "-c", "echo started > started"];
        const env = { PATH: "/usr/bin:/bin" };
        await client.call("process/start", { processId: "p", argv, cwd: directory, env, tty: false });
        await client.call("process/wait", { processId: "p" });
      }
      assert.deepEqual([(await server.status).code, namesIn(directory)], [0, ["confined", "started"]]);
    }),
});
