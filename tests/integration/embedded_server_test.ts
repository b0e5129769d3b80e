/** The server as a library: a program that is not ours runs it, and names what it starts. */

import assert from "node:assert/strict";
import { fixtureCommand } from "../support/fixture.ts";
import { childrenOf, type ProcessEntry } from "../support/proc.ts";
import { RpcError } from "../support/rpc_client.ts";
import { NO_SANDBOX } from "../support/sandbox_host.ts";
import { inScratchDirectory } from "../support/scratch_directory.ts";
import { connectChecked } from "../support/test_server.ts";

class Embedder implements AsyncDisposable {
  readonly #child: Deno.ChildProcess;

  private constructor(child: Deno.ChildProcess, readonly url: string) {
    this.#child = child;
  }

  static async start(helper: string): Promise<Embedder> {
    const [program, ...args] = fixtureCommand("embedded_server", [helper]);
    const child = new Deno.Command(program!, { args, stdin: "piped", stdout: "piped", stderr: "inherit" }).spawn();
    const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    while (!text.includes("\n")) {
      const { done, value } = await reader.read();
      if (done) throw new Error("the embedder did not start");
      text += value;
    }
    await reader.cancel();
    return new Embedder(child, text.trimEnd());
  }

  get pid(): number {
    return this.#child.pid;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#child.stdin.close();
    assert.equal((await this.#child.status).code, 0);
  }
}

const READ_ONLY = { type: "read-only" };

function embedderTest(name: string, helper: string, fn: (embedder: Embedder) => Promise<void>): void {
  Deno.test({
    name: NO_SANDBOX === null ? name : `${name} (SKIPPED: ${NO_SANDBOX})`,
    ignore: NO_SANDBOX !== null,
    async fn() {
      await using embedder = await Embedder.start(helper);
      await fn(embedder);
    },
  });
}

embedderTest(
  "an embedded server carries out sandboxed file requests with the helper it was named",
  "own",
  async (embedder) => {
    await inScratchDirectory(async (scratch) => {
      await using client = await connectChecked(embedder.url);
      Deno.mkdirSync(`${scratch}/ws`);
      const place = {
        sandboxPolicy: { type: "workspace-write", excludeSlashTmp: true, excludeTmpdirEnvVar: true },
        cwd: `${scratch}/ws`,
      };
      await client.call("fs/writeFile", { path: `${scratch}/ws/f`, dataBase64: "eA==", ...place });
      assert.equal(Deno.readTextFileSync(`${scratch}/ws/f`), "x");
      await assert.rejects(
        client.call("fs/writeFile", { path: `${scratch}/f`, dataBase64: "eA==", ...place }),
        /Read-only file system/,
      );
      const commands = descendantsOf(embedder.pid).map(({ commandLine }) => commandLine);
      assert.ok(commands.some((command) => command.trim().endsWith("embedder-file-helper")), commands.join("\n"));
    });
  },
);

embedderTest(
  "a named helper that does not work is an error of file requests, and of nothing else",
  "/bin/false",
  async (embedder) => {
    await using client = await connectChecked(embedder.url);
    await inScratchDirectory(async (scratch) => {
      const request = { path: `${scratch}/f`, dataBase64: "eA==", sandboxPolicy: READ_ONLY };
      await assert.rejects(client.call("fs/writeFile", request), (error) => error instanceof RpcError);
      assert.deepEqual([...Deno.readDirSync(scratch)], []);
    });
    const command = { argv: ["/bin/true"], cwd: "/", env: {}, tty: false, sandboxPolicy: READ_ONLY };
    await client.call("process/start", { processId: "p", ...command });
    assert.equal((await client.call("process/wait", { processId: "p" })).exitCode, 0);
  },
);

embedderTest("a named helper that does not exist is named in the refusal", "/no/such/helper", async (embedder) => {
  await using client = await connectChecked(embedder.url);
  const request = { path: "/tmp/never", dataBase64: "eA==", sandboxPolicy: READ_ONLY };
  await assert.rejects(client.call("fs/writeFile", request), /helper command needs \/no\/such\/helper/);
});

Deno.test("./server is what the documents say it is", async () => {
  const { exports } = JSON.parse(Deno.readTextFileSync(new URL("../../deno.json", import.meta.url)));
  const library = await import(new URL(`../../${exports["./server"]}`, import.meta.url).href);
  for (const name of ["startServer", "DEFAULT_LISTEN_URL", "parseListenUrl", "ListenUrlParseError"]) {
    assert.ok(name in library, name);
  }
  const helper = await import(new URL(`../../${exports["./fs-helper"]}`, import.meta.url).href);
  assert.equal(typeof helper.fsHelper, "function");
});

function descendantsOf(pid: number): ProcessEntry[] {
  return childrenOf(pid).flatMap((child) => [child, ...descendantsOf(child.pid)]);
}
