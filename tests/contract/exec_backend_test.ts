/**
 * What holds for every place where processes run: one suite for a server reached over a socket and for this very program.
 */

import assert from "node:assert/strict";
import { type ExecBackend, OutputGapError, remoteBackend, ServerError } from "../../src/client/mod.ts";
import { createTestServer, localBackend } from "../../src/local/mod.ts";
import { inScratchDirectory } from "../support/scratch_directory.ts";
import { until } from "../support/until.ts";

/** Opens a backend; what it stands on ends with it. */
type Opener = () => Promise<{ backend: ExecBackend; end: () => Promise<void> }>;

const BACKENDS: Record<string, Opener> = {
  local: async () => ({ backend: await localBackend(), end: () => Promise.resolve() }),
  remote: async () => {
    const server = await createTestServer();
    return { backend: await remoteBackend(server.url), end: () => server.close() };
  },
};

type Claim = (backend: ExecBackend) => Promise<void>;

const CLAIMS: Record<string, Claim> = {
  "a command gives its output, its code and its reason": async (backend) => {
    const output = await backend.run(["sh", "-c", "echo out; echo err >&2; exit 3"], { cwd: "/", env: { A: "b" } });
    const { code, signal, endReason, stdoutText, stderrText } = output;
    assert.deepEqual({ code, signal, endReason, stdoutText, stderrText }, {
      code: 3,
      signal: null,
      endReason: "exit",
      stdoutText: "out\n",
      stderrText: "err\n",
    });
  },

  "a program that is not there fails the start, and leaves nothing behind": async (backend) => {
    await assert.rejects(backend.spawn(["/no/such/program"]), ServerError);
    assert.equal((await backend.run(["true"])).code, 0);
  },

  "input arrives in order, and its end is seen": async (backend) => {
    const { stdoutText } = await backend.run(["sort", "-n"], { input: "3\n1\n2\n" });
    assert.equal(stdoutText, "1\n2\n3\n");
    const cat = await backend.spawn(["cat"], { stdin: "piped" });
    for (const part of ["a", "b", "c"]) await cat.write(part);
    await cat.closeStdin();
    assert.equal(await cat.stdout.text(), "abc");
    await cat.status;
    await assert.rejects(cat.write("late"), ServerError);
  },

  "much output comes whole": async (backend) => {
    const process = await backend.spawn(["seq", "300000"]);
    let expected = 1;
    for await (const line of process.stdout.lines()) assert.equal(line, String(expected++));
    assert.equal(expected, 300_001);
  },

  "events of one process never mix with those of another": async (backend) => {
    const outputs = await Promise.all(
      Array.from({ length: 8 }, (_, i) => backend.run(["sh", "-c", `for x in 1 2 3; do echo ${i}; done`])),
    );
    assert.deepEqual(outputs.map(({ stdoutText }) => stdoutText), outputs.map((_, i) => `${i}\n`.repeat(3)));
  },

  "a terminal is one stream with a size": async (backend) => {
    const shell = await backend.spawn(["sh", "-c", "stty size; read x; stty size"], { tty: { rows: 5, cols: 30 } });
    await shell.waitForText("5 30");
    await shell.resize({ rows: 6, cols: 31 });
    await shell.write("\n");
    await shell.waitForText("6 31");
    assert.equal((await shell.status).code, 0);
  },

  "an end that was asked for is told as such": async (backend) => {
    const process = await backend.spawn(["sleep", "1000"]);
    await process.terminate();
    assert.equal((await process.status).endReason, "terminated");
    const late = await backend.run(["sleep", "1000"], { timeout: 30 });
    assert.equal(late.endReason, "timeout");
  },

  "the newest output is kept where a process must not wait": async (backend) => {
    const process = await backend.spawn(["head", "-c", "9000000", "/dev/zero"], { output: "latest" });
    await process.wait({ until: "closed" });
    await assert.rejects(process.stdout.bytes(), OutputGapError);
  },

  "files are written, read, listed and removed": (backend) =>
    inScratchDirectory(async (directory) => {
      await backend.fs.mkdir(`${directory}/a/b`);
      await backend.fs.writeTextFile(`${directory}/a/b/c`, "content");
      assert.equal(await backend.fs.readTextFile(`${directory}/a/b/c`), "content");
      assert.deepEqual(await backend.fs.readDir(`${directory}/a`), [{
        fileName: "b",
        isDirectory: true,
        isFile: false,
      }]);
      await backend.fs.remove(`${directory}/a`);
      assert.equal(await backend.fs.exists(`${directory}/a`), false);
      await assert.rejects(backend.fs.stat(`${directory}/a`), (error) => {
        return error instanceof ServerError && error.isNotFound;
      });
    }),

  "a watch tells of changes": (backend) =>
    inScratchDirectory(async (directory) => {
      const watch = await backend.fs.watch(directory, { debounceMs: 1 });
      await backend.fs.writeTextFile(`${directory}/new`, "x");
      const { value } = await watch.next();
      assert.deepEqual(value, { path: `${directory}/new`, kind: "created" });
      await watch.return();
    }),
};

for (const [name, open] of Object.entries(BACKENDS)) {
  Deno.test(`${name} backend`, async (t) => {
    const { backend, end } = await open();
    for (const [claim, test] of Object.entries(CLAIMS)) await t.step(claim, () => test(backend));
    await t.step("closing it ends what it started, and fails who waits", async () => {
      const process = await backend.spawn(["sh", "-c", "echo pid $$; exec sleep 1000"]);
      const { groups: [pid] } = await process.waitForText(/pid (\d+)\n/);
      const failed = assert.rejects(process.wait({ until: "closed" })).catch(() => {});
      await backend.close();
      await failed;
      await assert.rejects(backend.run(["true"]));
      await until(() => !isAlive(Number(pid)), () => `process ${pid} is still there`);
    });
    await end();
  });
}

function isAlive(pid: number): boolean {
  try {
    Deno.kill(pid, "SIGCONT");
    return true;
  } catch {
    return false;
  }
}
