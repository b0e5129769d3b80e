/**
 * `kill -9` of the rendezvous while 100 MB stream through it and somebody types: a new one starts at the same port, the
 * executor registers again, the client resumes its session. Everything arrives once, in order.
 */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { connect } from "../../src/client/mod.ts";
import { proof, type ProofRun } from "../support/proof.ts";
import { RemoteChild } from "../support/remote_child.ts";
import { inScratchDirectory } from "../support/scratch_directory.ts";
import { TestRendezvous } from "../support/test_rendezvous.ts";

const STREAM_BYTES = 100 * 1024 * 1024;
/** Numbers, one a line: more than as many bytes. */
const STREAM = `seq 1 20000000 | head -c ${STREAM_BYTES}`;
/** Between two lines that are typed. */
const TYPING_MS = 3;

for (const form of ["plain", "noise"] as const) {
  proof({
    name: `${form}: a stream of 100 MB and what is typed meanwhile survive kill -9 of the rendezvous, each byte once`,
    tries: 20,
    unit: "kills",
  }, (run) => survive(form, run));
}

async function survive(form: "plain" | "noise", { tries, random, remark }: ProofRun): Promise<void> {
  await inScratchDirectory(async (directory) => {
    let rendezvous = await TestRendezvous.start(directory);
    try {
      const [executorToken, token] = [await rendezvous.token(["executor"]), await rendezvous.token(["client"])];
      const listen = `ws://127.0.0.1:${rendezvous.port}`;
      await using _ = new RemoteChild({
        args: [
          ...["--remote", rendezvous.url, form === "plain" ? "--executor-id" : "--environment-id", "box-1"],
          ...(form === "plain" ? [] : ["--identity-file", `${directory}/identity`]),
        ],
        env: { EXEC_SERVER_REMOTE_TOKEN: executorToken },
      });
      const address = form === "plain" ? `${listen}/connect/box-1` : { rendezvous: rendezvous.url, executor: "box-1" };
      await using box = await connect(address, { token });
      const expected = (await box.run(["bash", "-c", `${STREAM} | sha256sum`])).stdoutText.split(" ")[0];

      const editor = await box.spawn(["cat"], { stdin: "piped" });
      const typing = typeInto(editor);
      const process = await box.spawn(["bash", "-c", STREAM]);
      const killAt = Array.from({ length: tries }, () => random.int(STREAM_BYTES)).sort((a, b) => a - b);
      const outagesMs: number[] = [];
      const hash = createHash("sha256");
      let received = 0;
      let killedAtMs: number | null = null;
      for await (const chunk of process.stdout) {
        hash.update(chunk);
        received += chunk.length;
        // What was under way when it was killed may still come.
        if (killedAtMs !== null && box.connectionState.state === "connected") {
          outagesMs.push(Math.round(performance.now() - killedAtMs));
          killedAtMs = null;
        }
        if (killedAtMs !== null || killAt[0] === undefined || received < killAt[0]) continue;
        killAt.shift();
        const lost = lostConnection(box);
        killedAtMs = performance.now();
        rendezvous.kill("SIGKILL");
        await rendezvous.status;
        await lost;
        rendezvous = await TestRendezvous.start(directory, { listen });
      }
      assert.equal(received, STREAM_BYTES);
      assert.equal(hash.digest("hex"), expected);
      const { typed, seen } = await typing.stop();
      assert.ok(typed.length > 0);
      assert.equal(seen, typed);
      assert.ok(outagesMs.length > 0, "it was killed while the stream was running");
      const sorted = outagesMs.sort((a, b) => a - b);
      remark(
        `${sorted.length} of ${tries} kills within the stream; back after ${sorted[0]} to ${sorted.at(-1)} ms, ` +
          `median ${sorted[sorted.length >> 1]} ms; ${typed.split("\n").length - 1} lines typed`,
      );
    } finally {
      await rendezvous[Symbol.asyncDispose]();
    }
  });
}

type Box = Awaited<ReturnType<typeof connect>>;
type Handle = Awaited<ReturnType<Box["spawn"]>>;

function lostConnection(box: Box): Promise<void> {
  return new Promise((resolve) => {
    const stop = box.onConnectionChange(({ state }) => {
      if (state === "connected") return;
      stop();
      resolve();
    });
  });
}

/** Types numbered lines until it is told to stop; what was typed, and what came back. */
function typeInto(editor: Handle): { stop(): Promise<{ typed: string; seen: string }> } {
  let isOver = false;
  let typed = "";
  const seen = editor.stdout.text();
  const typing = (async () => {
    for (let line = 1; !isOver; line++) {
      await editor.write(`${line}\n`);
      typed += `${line}\n`;
      await new Promise((resolve) => setTimeout(resolve, TYPING_MS));
    }
    await editor.closeStdin();
  })();
  return {
    async stop() {
      isOver = true;
      await typing;
      return { typed, seen: await seen };
    },
  };
}
