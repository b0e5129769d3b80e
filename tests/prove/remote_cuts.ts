/**
 * The connections of an executor behind a rendezvous are cut, on either side or on both, while output streams and somebody
 * types: everything arrives once, in order, in both forms.
 */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { type Address, connect, type Devbox } from "../../src/client/mod.ts";
import { proof } from "../support/proof.ts";
import { Relay } from "../support/relay.ts";
import { RemoteChild } from "../support/remote_child.ts";
import { inScratchDirectory } from "../support/scratch_directory.ts";
import { TestRendezvous } from "../support/test_rendezvous.ts";

/** Numbers, one a line, for as long as it takes: it stops when its input ends. */
const STREAM = "n=0; while ! read -t 0; do n=$((n+1)); echo $n; [ $((n % 2000)) = 0 ] && sleep 0.01; done; echo $n >&2";

for (const form of ["noise", "plain"] as const) {
  proof({
    name: `output and typing survive cuts on either side of the rendezvous, each byte once (${form})`,
    tries: 200,
    unit: "cuts",
  }, async ({ tries, random, remark }) => {
    await inScratchDirectory(async (directory) => {
      await using rendezvous = await TestRendezvous.start(directory);
      const [executorToken, token] = [await rendezvous.token(["executor"]), await rendezvous.token(["client"])];
      await using toExecutor = new Relay(rendezvous.port);
      await using toClient = new Relay(rendezvous.port);
      const id = form === "noise"
        ? ["--environment-id", "box", "--identity-file", `${directory}/identity`]
        : ["--executor-id", "box"];
      await using executor = new RemoteChild({
        args: ["--remote", `http://127.0.0.1:${toExecutor.port}`, ...id],
        env: { EXEC_SERVER_REMOTE_TOKEN: executorToken },
      });
      await executor.connected();
      const address: Address = form === "noise"
        ? { rendezvous: `http://127.0.0.1:${toClient.port}`, executor: "box" }
        : `ws://127.0.0.1:${toClient.port}/connect/box`;
      await using box = await connect(address, { token });
      const stream = await box.spawn(["bash", "-c", STREAM], { stdin: "piped" });
      const streamed = digest(stream.stdout);
      const editor = await box.spawn(["cat"], { stdin: "piped" });
      const echoed = editor.stdout.text();

      const outagesMs: number[] = [];
      let typed = "";
      for (let cut = 0; cut < tries; cut++) {
        const sides = random.pick([[toExecutor], [toClient], [toExecutor, toClient]]);
        const lost = next(box, (state) => state !== "connected");
        const begunAtMs = performance.now();
        // Typed just before, during and after the loss.
        const typing = (async () => {
          for (let line = 0; line < 3; line++) {
            const text = `${cut} ${line}\n`;
            await editor.write(text);
            typed += text;
          }
        })();
        for (const side of sides) side.cut();
        await lost;
        await next(box, (state) => state === "connected");
        outagesMs.push(Math.round(performance.now() - begunAtMs));
        await typing;
      }
      await editor.closeStdin();
      assert.equal(await echoed, typed, "what was typed came back once, in order");
      await stream.closeStdin();
      const count = Number((await stream.stderr.text()).trim());
      const { hash, bytes } = await streamed;
      assert.equal(hash, await expectedDigest(count), `${count} lines`);
      outagesMs.sort((a, b) => a - b);
      remark(
        `back after ${outagesMs[0]} to ${outagesMs.at(-1)} ms, median ${outagesMs[outagesMs.length >> 1]} ms; ` +
          `${(bytes / 2 ** 20).toFixed(1)} MiB streamed, ${typed.split("\n").length - 1} lines typed`,
      );
    });
  });
}

/** Resolves at the next state of the connection that is like this, or now. */
function next(box: Devbox, isIt: (state: string) => boolean): Promise<void> {
  if (isIt(box.connectionState.state)) return Promise.resolve();
  return new Promise((resolve) => {
    const stop = box.onConnectionChange(({ state }) => {
      if (!isIt(state)) return;
      stop();
      resolve();
    });
  });
}

async function digest(stream: AsyncIterable<Uint8Array>): Promise<{ hash: string; bytes: number }> {
  const hash = createHash("sha256");
  let bytes = 0;
  for await (const chunk of stream) {
    hash.update(chunk);
    bytes += chunk.length;
  }
  return { hash: hash.digest("hex"), bytes };
}

async function expectedDigest(count: number): Promise<string> {
  async function* lines(): AsyncGenerator<Uint8Array> {
    for (let line = 1; line <= count; line++) yield new TextEncoder().encode(`${line}\n`);
  }
  return (await digest(lines())).hash;
}
