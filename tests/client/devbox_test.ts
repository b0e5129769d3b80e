/** What users do with a box, against a real server. */

import assert from "node:assert/strict";
import {
  AbortedError,
  connect,
  ConnectionRefusedError,
  OutputGapError,
  ProcessFailedError,
  ServerError,
  TimedOutError,
  UnauthorisedError,
} from "../../src/client/mod.ts";
import { TestServer } from "../support/test_server.ts";
import { until } from "../support/until.ts";

Deno.test("box.run() and box.$", async (t) => {
  await using server = await TestServer.start();
  await using box = await connect(server.url);

  await t.step("run returns code, output and reason, whatever the code", async () => {
    const { code, signal, endReason, stdoutText, stderrText, truncated, success } = await box.run([
      "sh",
      "-c",
      "echo out; echo err >&2; exit 3",
    ]);
    assert.deepEqual(
      { code, signal, endReason, stdoutText, stderrText, truncated, success },
      {
        code: 3,
        signal: null,
        endReason: "exit",
        stdoutText: "out\n",
        stderrText: "err\n",
        truncated: false,
        success: false,
      },
    );
  });

  await t.step("run keeps the beginning and the end of too much output, and says so", async () => {
    const { stdoutText, truncated } = await box.run(["seq", "100000"], { maxBytes: 1000 });
    assert.equal(truncated, true);
    assert.equal(stdoutText.length, 1000);
    assert.ok(stdoutText.startsWith("1\n2\n3\n") && stdoutText.endsWith("\n99999\n100000\n"));
  });

  await t.step("run writes its input, also one the command does not want", async () => {
    assert.equal((await box.run(["tr", "a-z", "A-Z"], { input: "hello" })).stdoutText, "HELLO");
    assert.equal((await box.run(["true"], { input: "x".repeat(1_000_000) })).code, 0);
  });

  await t.step("a deadline ends the command and is named", async () => {
    const { endReason, success } = await box.run(["sleep", "1000"], { timeout: "50ms" });
    assert.deepEqual([endReason, success], ["timeout", false]);
    await assert.rejects(box.run(["true"], { timeout: "soon" }), /timeout must be a positive number of milliseconds/);
  });

  await t.step("values of a template stay single words, whatever they hold", async () => {
    const nasty = ["it's", "$(touch /tmp/never)", 'a "b" c', "", "*", "\n", "-n"];
    assert.equal(await box.$`printf '[%s]' ${nasty}`.text(), nasty.map((word) => `[${word}]`).join(""));
    assert.equal(await box.$`printf %s --prefix=${"a b"}`.text(), "--prefix=a b");
    assert.throws(() => box.$`echo "${"x"}"`, /do not put " around/);
    assert.throws(() => box.$`echo '${"x"}'`, /do not put ' around/);
    // Functions, `set --` and `shift` have positional parameters of their own.
    assert.equal(await box.$`f() { printf %s ${"it's"} "$1"; }; f else`.text(), "it'selse");
    assert.equal(await box.$`set -- a b; shift; printf %s "$1" ${"c d"}`.text(), "bc d");
    const many = Array.from({ length: 5000 }, (_, i) => `file ${i}`);
    assert.equal(await box.$`printf '%s\n' ${many}`.text(), many.join("\n"));
  });

  await t.step("a command that fails throws with its output, unless told not to", async () => {
    await assert.rejects(box.$`echo some; echo why >&2; exit 4`.bytes(), (error) => {
      assert.ok(error instanceof ProcessFailedError);
      assert.deepEqual([error.process.code, error.stdout, error.stderr], [4, "some\n", "why\n"]);
      assert.match(error.message, /exit 4: code 4\nwhy$/);
      return true;
    });
    assert.equal((await box.$`exit 4`.nothrow()).code, 4);
  });

  await t.step("text, json, lines, cwd, env and stdin", async () => {
    assert.equal(await box.$`pwd`.cwd("/").text(), "/");
    assert.deepEqual(await box.$`cat`.stdin('{"a":[1]}').json(), { a: [1] });
    assert.deepEqual(await Array.fromAsync(box.$`cat`.stdin("x\ny\n").timeout("1m").lines()), ["x", "y"]);
    assert.equal(await (await box.$`cat`.stdin("z").timeout("1m").spawn()).stdout.text(), "z");
    assert.equal(await box.$`echo $GREETING`.env({ GREETING: "hi" }).text(), "hi");
    const lines: string[] = [];
    for await (const line of box.$`printf 'a\r\nb\n\nc'`.lines()) lines.push(line);
    assert.deepEqual(lines, ["a", "b", "", "c"]);
    await assert.rejects(box.$`echo no`.json(), /cannot parse the output of echo no as JSON: no/);
    await assert.rejects(Array.fromAsync(box.$`echo one; exit 9`.lines()), ProcessFailedError);
  });
});

Deno.test("box.spawn()", async (t) => {
  await using server = await TestServer.start();
  await using box = await connect(server.url);

  await t.step("streams, input and status", async () => {
    const cat = await box.spawn(["cat"], { stdin: "piped" });
    const writer = cat.stdin.getWriter();
    await writer.write("one ");
    await writer.write(new TextEncoder().encode("two"));
    await writer.close();
    assert.equal(await cat.stdout.text(), "one two");
    assert.equal((await cat.status).success, true);
  });

  await t.step("status is known even if nobody reads, however much is written", async () => {
    const flood = await box.spawn(["sh", "-c", "head -c 5000000 /dev/zero; head -c 5000000 /dev/zero >&2"]);
    assert.equal((await flood.status).code, 0);
  });

  await t.step("reading one stream does not wait for the other", async () => {
    const flood = await box.spawn(["sh", "-c", "head -c 5000000 /dev/zero >&2; echo done"]);
    assert.equal(await flood.stdout.text(), "done\n");
  });

  await t.step("a stream that is read late and has lost something reports that", async () => {
    const flood = await box.spawn(["head", "-c", "5000000", "/dev/zero"]);
    await flood.wait({ until: "closed" });
    await assert.rejects(flood.stdout.text(), OutputGapError);
    const small = await box.spawn(["echo", "little"]);
    await small.wait({ until: "closed" });
    assert.equal(await small.stdout.text(), "little\n");
  });

  await t.step("a process whose output nobody reads waits, and others flow", async () => {
    const held = await box.spawn(["sh", "-c", "head -c 20000000 /dev/zero; echo over >&2"]);
    let isWaiting = false;
    while (!isWaiting) {
      const entry = (await box.processes()).find(({ processId }) => processId === held.id)!;
      isWaiting = entry.waitsForAck === true;
    }
    assert.equal((await box.run(["head", "-c", "3000000", "/dev/zero"])).stdout.length, 3_000_000);
    assert.equal(held.running, true);
    assert.equal((await held.stdout.bytes()).length, 20_000_000);
    assert.equal((await held.status).code, 0);
  });

  await t.step("with the latest output a process never waits, and a gap is an error of the stream", async () => {
    const flood = await box.spawn(["head", "-c", "20000000", "/dev/zero"], { output: "latest" });
    await flood.wait({ until: "closed" });
    await assert.rejects(flood.stdout.bytes(), OutputGapError);
  });

  await t.step("events tell everything in order", async () => {
    const process = await box.spawn(["sh", "-c", "echo out; read -r _; echo err >&2; exit 2"], { stdin: "piped" });
    const seen: unknown[] = [];
    for await (const event of process.events) {
      // Two streams have no order of their own: the second line is asked for when the first has come.
      if (seen.length === 0) await process.write("\n");
      if (event.type === "output") seen.push([event.stream, new TextDecoder().decode(event.bytes)]);
      else seen.push(event.type === "exited" ? ["exited", event.status.code] : [event.type]);
    }
    assert.deepEqual(seen, [["stdout", "out\n"], ["stderr", "err\n"], ["exited", 2], ["closed"]]);
  });

  await t.step("signals, graceful ends and forced ones", async () => {
    const trap = "trap 'echo caught; exit 5' TERM; echo ready; while :; do sleep 0.05; done";
    const polite = await box.spawn(["sh", "-c", trap]);
    await polite.waitForText("ready");
    await polite.kill();
    assert.deepEqual([(await polite.status).code, await polite.stdout.text()], [5, "ready\ncaught\n"]);
    const graceful = await box.spawn(["sh", "-c", trap]);
    await graceful.waitForText("ready");
    await graceful.terminate({ graceMs: 5000 });
    assert.equal((await graceful.status).code, 5);
    const forced = await box.spawn(["sleep", "1000"]);
    await forced.kill("SIGKILL");
    assert.equal((await forced.status).signal, "SIGKILL");
    await assert.rejects(forced.kill("SIGNOPE" as "SIGINT"), /known are SIGINT/);
  });

  await t.step("aborting a wait leaves the process, aborting its own signal ends it", async () => {
    const own = new AbortController();
    const process = await box.spawn(["sleep", "1000"], { signal: own.signal });
    await assert.rejects(process.wait({ timeout: 20 }), TimedOutError);
    await assert.rejects(process.wait({ signal: AbortSignal.timeout(20) }), AbortedError);
    assert.equal(process.running, true);
    own.abort();
    assert.equal((await process.status).endReason, "terminated");
    await assert.rejects(box.spawn(["true"], { signal: own.signal }), AbortedError);
  });

  await t.step("a deadline of 60 days does not pass at once, though no timer of the runtime is that long", async () => {
    const process = await box.spawn(["cat"], { stdin: "piped" });
    const waiting = process.wait({ timeout: "60d" });
    await process.closeStdin();
    assert.equal((await waiting).code, 0);
  });

  await t.step("a terminal has its size, its echo and its end of file", async () => {
    const shell = await box.spawn(["sh"], { tty: { rows: 10, cols: 40 }, env: { PS1: "" } });
    await shell.write("stty size\n");
    await shell.waitForText("10 40");
    await shell.resize({ rows: 20, cols: 50 });
    await shell.write("stty size\n");
    await shell.waitForText("20 50");
    await shell.closeStdin();
    assert.equal((await shell.status).code, 0);
    assert.match(await shell.terminal.text(), /10 40[\s\S]*20 50/);
    assert.throws(() => shell.stdout, /read `terminal`/);
  });

  await t.step("leaving its block ends a process", async () => {
    let handle;
    {
      await using process = await box.spawn(["sleep", "1000"]);
      handle = process;
    }
    assert.equal(handle.running, false);
  });

  await t.step("snapshot, and a process without an input", async () => {
    const process = await box.spawn(["sh", "-c", "echo out; echo err >&2"]);
    await process.wait({ until: "closed" });
    const { stdout, stderr, running, exitCode } = await process.snapshot();
    const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
    assert.deepEqual([text(stdout), text(stderr), running, exitCode], ["out\n", "err\n", false, 0]);
    assert.throws(() => process.stdin, /start it with `stdin: "piped"`/);
  });
});

Deno.test("a client that is not let in gets the reason", async (t) => {
  await using server = await TestServer.start({ args: ["--ws-auth", "url-token"] });
  const url = new URL(server.url);
  const token = url.searchParams.get("token")!;
  url.search = "";

  await t.step("a token may be in the URL, a text, or a function that is asked each time", async () => {
    await (await connect(server.url)).close();
    await (await connect(url, { token })).close();
    let asked = 0;
    const given = () => {
      asked++;
      return Promise.resolve(token);
    };
    await (await connect(url, { token: given })).close();
    assert.equal(asked, 1);
  });

  await t.step("without one, and with a wrong one", async () => {
    for (const options of [{}, { token: "wrong" }]) {
      await assert.rejects(connect(url, options), (error) => {
        assert.ok(error instanceof UnauthorisedError, String(error));
        assert.doesNotMatch(error.message, /wrong/);
        return true;
      });
    }
  });

  await t.step("a token that never comes is waited for as long as an attempt may take", async () => {
    const token = () => new Promise<string>(() => {});
    await assert.rejects(connect(server.url, { token, attemptTimeout: 50 }), ConnectionRefusedError);
    await assert.rejects(connect(server.url, { token, signal: AbortSignal.timeout(50) }), AbortedError);
  });

  await t.step("texts that are not addresses", async () => {
    await assert.rejects(connect("nonsense"), ConnectionRefusedError);
    await assert.rejects(connect("ftp://x"), /must be ws:, wss: or unix:/);
    await assert.rejects(connect("ws://127.0.0.1:1"), ConnectionRefusedError);
    await assert.rejects(connect(server.url, { signal: AbortSignal.abort() }), AbortedError);
  });
});

Deno.test("nothing is left behind when a box is closed", async () => {
  await using server = await TestServer.start();
  const box = await connect(server.url);
  const process = await box.spawn(["sleep", "1000"]);
  const pid = (await box.processes())[0]!.pid!;
  const waiting = process.status;
  await Promise.all([box.close(), assert.rejects(waiting, AbortedError).catch(() => {})]);
  await until(() => !isAlive(pid), () => `process ${pid} outlived its session`);
});

function isAlive(pid: number): boolean {
  try {
    Deno.kill(pid, "SIGCONT");
    return true;
  } catch {
    return false;
  }
}

Deno.test("a request that no server would take fails at once, and harms nothing else", async () => {
  await using server = await TestServer.start();
  await using box = await connect(server.url);
  const changes: unknown[] = [];
  box.onConnectionChange((state) => changes.push(state));
  for (const word of ["x".repeat(16 * 1024 * 1024), "ü".repeat(9 * 1024 * 1024)]) {
    await assert.rejects(box.run(["true", word]), (error: Error) => {
      return error instanceof ServerError &&
        /^cannot send process\/start: .* at most 16777216 bytes$/.test(error.message);
    });
  }
  assert.equal((await box.run(["true"])).code, 0);
  assert.deepEqual(changes, [], "the connection was not lost");
});
