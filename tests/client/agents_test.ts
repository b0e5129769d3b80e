/** What the tools of agents do with a box, against a real server. */

import assert from "node:assert/strict";
import { AbortedError, connect, ProcessFailedError, TimedOutError } from "../../src/client/mod.ts";
import { TestServer } from "../support/test_server.ts";

Deno.test("for agents: portions, texts and ports", async (t) => {
  await using server = await TestServer.start();
  await using box = await connect(server.url);

  await t.step("runUntil returns after a while, and pollUntil goes on", async () => {
    const first = await box.runUntil(["sh", "-c", "echo one; read x; echo two"], { yieldMs: 300, stdin: "piped" });
    assert.deepEqual([first.running, first.status], [true, null]);
    let { text } = first;
    while (text === "") text = (await first.process!.pollUntil({ yieldMs: 100 })).text;
    assert.equal(text, "one\n");
    await first.process!.write("\n");
    const second = await first.process!.pollUntil({ yieldMs: 60_000 });
    assert.deepEqual([second.text, second.running, second.status!.code], ["two\n", false, 0]);
  });

  await t.step("if there is too much, the middle is left out, and counted", async () => {
    const { text, omittedBytes, process } = await box.runUntil(["seq", "100000"], { maxBytes: 100 });
    assert.match(text, /^1\n2\n[\s\S]*\n… \d+ bytes left out …\n[\s\S]*100000\n$/);
    assert.ok(omittedBytes > 500_000);
    assert.equal(process, null);
  });

  await t.step("text is valid whatever was cut", async () => {
    const cut = ["sh", "-c", "printf '\\342\\202'; read x; printf '\\254 '; printf '\\360\\237'"];
    const first = await box.runUntil(cut, { yieldMs: 300, stdin: "piped" });
    assert.equal(first.text, "");
    await first.process!.write("\n");
    assert.equal((await first.process!.pollUntil({ yieldMs: 60_000 })).text, "€ \ufffd");
    const long = await box.runUntil(["sh", "-c", "for i in $(seq 1000); do printf ä€𝄞; done"], { maxBytes: 101 });
    assert.doesNotMatch(long.text, /\ufffd/);
  });

  await t.step("waitForText finds what comes in pieces, one after the other", async () => {
    const process = await box.spawn([
      "sh",
      "-c",
      "printf 'list'; sleep 0.05; echo 'ening on 4711'; echo listening; exit 1",
    ]);
    const { groups } = await process.waitForText(/listening on (\d+)/);
    assert.deepEqual(groups, ["4711"]);
    assert.equal((await process.waitForText("listening")).text, "listening");
    await assert.rejects(process.waitForText("never"), (error) => {
      return error instanceof ProcessFailedError && /ended \(code 1\) without writing it/.test(error.message);
    });
    const silent = await box.spawn(["sleep", "1000"]);
    await assert.rejects(silent.waitForText("x", { timeout: 30 }), TimedOutError);
  });

  await t.step("several searches for texts may wait at a time, and an aborted one removes nothing", async () => {
    const process = await box.spawn(["sh", "-c", "echo first; read x; echo ready; echo error; cat"], {
      stdin: "piped",
    });
    await assert.rejects(process.waitForText("first", { signal: AbortSignal.abort() }), AbortedError);
    await process.waitForText("first");
    const [ready, error] = [process.waitForText("ready"), process.waitForText("error")];
    await process.write("\n");
    assert.deepEqual([(await ready).text, (await error).text], ["ready", "error"]);
  });

  await t.step("waitForPort sees a port when something listens, and not before", async () => {
    const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    const { port } = listener.addr;
    await box.waitForPort(port, { timeout: "1m" });
    listener.close();
    await assert.rejects(box.waitForPort(port, { timeout: 50 }), TimedOutError);
    await assert.rejects(box.waitForPort(port, { signal: AbortSignal.abort() }), AbortedError);
    await assert.rejects(box.waitForPort(0), TypeError);
  });
});
