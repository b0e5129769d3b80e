/** Our own client at an executor behind our own rendezvous: three programs, each of which may be lost. */

import assert from "node:assert/strict";
import { ConnectionRefusedError, filePins, UnauthorisedError } from "../../src/client/mod.ts";
import { connectBox } from "../support/checked_box.ts";
import { CommandHome } from "../support/command_home.ts";
import { RemoteChild } from "../support/remote_child.ts";
import { inScratchDirectory } from "../support/scratch_directory.ts";
import { TestRendezvous } from "../support/test_rendezvous.ts";

interface Stage {
  readonly directory: string;
  readonly rendezvous: TestRendezvous;
  readonly executorToken: string;
  readonly clientToken: string;
}

function onStage(act: (stage: Stage) => Promise<void>): Promise<void> {
  return inScratchDirectory(async (directory) => {
    await using rendezvous = await TestRendezvous.start(directory);
    const [executorToken, clientToken] = [await rendezvous.token(["executor"]), await rendezvous.token(["client"])];
    await act({ directory, rendezvous, executorToken, clientToken });
  });
}

function startExecutor({ directory, rendezvous, executorToken }: Stage, identity = "identity"): RemoteChild {
  return new RemoteChild({
    args: ["--remote", rendezvous.url, "--environment-id", "devbox", "--identity-file", `${directory}/${identity}`],
    env: { EXEC_SERVER_REMOTE_TOKEN: executorToken },
  });
}

Deno.test("a box behind a rendezvous works like any other, also when the rendezvous is killed", () =>
  onStage(async (stage) => {
    const { directory, rendezvous, clientToken } = stage;
    await using executor = startExecutor(stage);
    await executor.connected();
    await using box = await connectBox({ rendezvous: rendezvous.url, executor: "devbox" }, { token: clientToken });
    assert.equal((await box.run(["echo", "hello"])).stdoutText, "hello\n");
    const process = await box.spawn(["sh", "-c", "read word; echo got $word"], { stdin: "piped" });
    const listen = `ws://127.0.0.1:${rendezvous.port}`;
    rendezvous.kill("SIGKILL");
    await rendezvous.status;
    await using _next = await TestRendezvous.start(directory, { listen });
    await process.write("it\n");
    assert.equal(await process.stdout.text(), "got it\n");
    await executor.logged("session resumed");
    // While there is a rendezvous: goodbye is said through it.
    await box.close();
  }));

Deno.test("the executor's key is remembered, and another one refused, whatever the rendezvous says", () =>
  onStage(async (stage) => {
    const { directory, rendezvous, clientToken } = stage;
    const file = `${directory}/known_executors`;
    const address = { rendezvous: rendezvous.url, executor: "devbox" };
    const open = (known: object = { pins: filePins(file) }) =>
      connectBox({ ...address, ...known }, { token: clientToken });
    const isRefused = (error: unknown) => error instanceof UnauthorisedError && /has changed/.test(error.message);
    for (const identity of ["first", "first", "second"]) {
      await using executor = startExecutor(stage, identity);
      await executor.connected();
      if (identity === "first") await (await open()).close();
      else await assert.rejects(open(), isRefused);
      // Given by hand it needs no first connection.
      const [, , fingerprint] = (await Deno.readTextFile(file)).trim().split(" ");
      if (identity === "first") await (await open({ fingerprint })).close();
      else await assert.rejects(open({ fingerprint }), isRefused);
      executor.kill("SIGTERM");
      await executor.ended();
    }
    assert.match(await Deno.readTextFile(file), new RegExp(`^127.0.0.1:${rendezvous.port} devbox SHA256:\\S+\n$`));
    assert.equal((await Deno.stat(file)).mode! & 0o777, 0o600);
  }));

Deno.test("commands reach an executor, show its key, and refuse one whose key has changed", () =>
  onStage(async (stage) => {
    const { rendezvous, clientToken } = stage;
    await using home = await CommandHome.make();
    const env = { EXEC_SERVER_URL: rendezvous.url, EXEC_SERVER_TOKEN: clientToken };
    const run = (command: string, ...words: string[]) => home.run([command, "--executor", "devbox", ...words], { env });
    await using first = startExecutor(stage, "first");
    await first.connected();
    const hello = await run("exec", "--", "sh", "-c", "echo hello; exit 3");
    assert.deepEqual([hello.stdout, hello.stderr, hello.code], ["hello\n", "", 3]);
    const { fingerprint } = JSON.parse((await run("info", "--json")).stdout);
    const known = `${home.stateDirectory}/known_executors`;
    assert.match(fingerprint, /^SHA256:\S+$/);
    assert.equal(await Deno.readTextFile(known), `127.0.0.1:${rendezvous.port} devbox ${fingerprint}\n`);
    first.kill("SIGTERM");
    await first.ended();

    await using second = startExecutor(stage, "second");
    await second.connected();
    const refused = await run("exec", "--", "echo", "hello");
    assert.equal(refused.code, 255);
    assert.equal(refused.stdout, "");
    assert.match(refused.stderr, /has changed/);
  }));

Deno.test("a wrong token and a rendezvous that is not there are told apart", () =>
  onStage(async (stage) => {
    const { rendezvous, clientToken } = stage;
    const open = (url: string, executor: string, token?: string) =>
      connectBox({ rendezvous: url, executor }, token === undefined ? {} : { token });
    await assert.rejects(open(rendezvous.url, "devbox", "wrong"), UnauthorisedError);
    await assert.rejects(open(rendezvous.url, "devbox"), UnauthorisedError);
    await assert.rejects(open("http://127.0.0.1:9", "devbox", clientToken), ConnectionRefusedError);
  }));
