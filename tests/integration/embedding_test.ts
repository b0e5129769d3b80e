/** Mounted in a `Deno.serve`: the example of docs/embedding.md, and a module for `deno serve`. */

import assert from "node:assert/strict";
import { inScratchDirectory } from "../support/scratch_directory.ts";
import { connectChecked, TestServer } from "../support/test_server.ts";

const ROOT = new URL("../..", import.meta.url).pathname;
const EXAMPLE = [Deno.execPath(), "run", "--quiet", "--no-check", "-P=serve", `${ROOT}examples/embed.ts`];

Deno.test("examples/embed.ts serves its own page and exec-server's clients, who need the printed token", async () => {
  await using server = await TestServer.start({ command: EXAMPLE });
  const page = await fetch(`http://127.0.0.1:${server.port}/hello`);
  assert.equal(await page.text(), "hello\n");
  await assert.rejects(connectChecked(`ws://127.0.0.1:${server.port}`, { clientName: "test" }));
  await using client = await server.connect();
  const command = { argv: ["/bin/echo", "hello"], cwd: "/", env: {}, tty: true };
  await client.call("process/start", { processId: "p", ...command });
  assert.equal((await client.call("process/wait", { processId: "p" })).exitCode, 0);
});

Deno.test("a module that exports a handler is served by deno serve", async () => {
  await inScratchDirectory(async (scratch) => {
    const module = `${scratch}/main.ts`;
    Deno.writeTextFileSync(
      module,
      `import { createHandler } from ${JSON.stringify(`${ROOT}src/server/mod.ts`)};\n` +
        "export default createHandler({ authenticator: null });\n",
    );
    const config = `${ROOT}deno.json`;
    const child = new Deno.Command(Deno.execPath(), {
      args: ["serve", "--no-check", "--config", config, "-P=serve", "--host", "127.0.0.1", "--port", "0", module],
      stdin: "null",
      stdout: "null",
      stderr: "piped",
      env: { NO_COLOR: "1" },
    }).spawn();
    try {
      let text = "";
      for await (const piece of child.stderr.pipeThrough(new TextDecoderStream())) {
        text += piece;
        const port = /http:\/\/127\.0\.0\.1:(\d+)/.exec(text)?.[1];
        if (port === undefined) continue;
        await using client = await connectChecked(`ws://127.0.0.1:${port}`);
        assert.ok(await client.call("environment/status", null));
        return;
      }
      assert.fail(`deno serve has ended: ${text}`);
    } finally {
      child.kill("SIGKILL");
      await child.status;
    }
  });
});
