/**
 * The client library through a thousand cuts: a stream of 200 MB, interactive input, a mix of file calls. Resets, frames
 * that are cut in their middle, half-closes, and black holes that only a heartbeat notices; everywhere, also in
 * handshakes. Bytes are compared by digest, every promise settles, and a rejection nobody handles fails the test.
 */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { ClientError, connect, ConnectionLostError, type Devbox } from "../../src/client/mod.ts";
import { type Fault, FaultyProxy } from "../support/faulty_proxy.ts";
import { proof, type ProofRun } from "../support/proof.ts";
import { inScratchDirectory } from "../support/scratch_directory.ts";
import { TestServer } from "../support/test_server.ts";

const CUTS = 1000;
const STREAM_BYTES = 200_000_000;
/** A black hole costs the time until it is noticed, so there are fewer of them. */
const FAULTS: readonly Fault[] = ["reset", "reset", "reset", "cutFrame", "cutFrame", "halfClose", "halfClose", "stall"];
const LIVELY = { heartbeat: 250, heartbeatTimeout: 250, attemptTimeout: 2000, maxBackOff: 50, detachTtl: "5m" };

proof(
  { name: "a stream of 200 MB comes whole through cuts", tries: CUTS, unit: "cuts" },
  (run) =>
    inScratchDirectory(async (directory) => {
      const bytes = Math.round(STREAM_BYTES * run.tries / CUTS);
      const file = `${directory}/random`;
      const expected = await writeRandom(file, bytes);
      await cutting(run, Math.round(1.6 * bytes / run.tries), async (box, proxy) => {
        let streams = 0;
        do {
          const hash = createHash("sha256");
          let seen = 0;
          const process = await box.spawn(["cat", file]);
          for await (const chunk of process.stdout) {
            hash.update(chunk);
            seen += chunk.length;
          }
          assert.equal(seen, bytes);
          assert.equal(hash.digest("hex"), expected);
          assert.equal((await process.status).code, 0);
          streams++;
        } while (proxy.faults < run.tries);
        run.remark(`${streams} streams of ${Math.round(bytes / 1e6)} MB`);
      });
    }),
);

proof({ name: "input is typed once through cuts", tries: CUTS, unit: "cuts" }, async (run) => {
  await cutting(run, 4000, async (box, proxy) => {
    let lines = 0;
    do {
      const cat = await box.spawn(["cat"], { stdin: "piped" });
      const echoed = createHash("sha256");
      const typed = createHash("sha256");
      const reading = (async () => {
        for await (const chunk of cat.stdout) echoed.update(chunk);
      })();
      for (let i = 0; i < 200; i++) {
        const line = `${lines++} ${"x".repeat(run.random.int(60))}\n`;
        typed.update(line);
        await cat.write(line);
      }
      await cat.closeStdin();
      await reading;
      assert.equal(echoed.digest("hex"), typed.digest("hex"));
      assert.equal((await cat.status).code, 0);
    } while (proxy.faults < run.tries);
    run.remark(`${lines} lines`);
  });
});

proof(
  { name: "a mix of file calls is answered, and has the reported effect, through cuts", tries: CUTS, unit: "cuts" },
  (run) =>
    inScratchDirectory(async (directory) => {
      await cutting(run, 80_000, async (box, proxy) => {
        let calls = 0;
        let unknown = 0;
        do {
          const results = await Promise.allSettled(
            Array.from({ length: 8 }, (_, i) => mixedCalls(box, `${directory}/${run.random.int(1e9)}-${i}`, run)),
          );
          for (const result of results) {
            calls += 6;
            if (result.status === "fulfilled") continue;
            // Only what must not be repeated may end like this.
            assert.ok(result.reason instanceof ClientError, String(result.reason));
            assert.ok(result.reason instanceof ConnectionLostError, String(result.reason));
            assert.match(result.reason.message, /fs\/rename/);
            unknown++;
          }
        } while (proxy.faults < run.tries);
        run.remark(`${calls} calls, ${unknown} renames of unknown outcome`);
      });
    }),
);

/** Writes, streams, reads and renames a file, and finds in it what was written. */
async function mixedCalls(box: Devbox, path: string, { random }: ProofRun): Promise<void> {
  const content = Uint8Array.from({ length: 1 + random.int(4000) }, () => random.int(256));
  await box.fs.writeFile(path, content, { atomic: random.chance(0.5) });
  assert.deepEqual(await box.fs.readFile(path), content);
  const writer = box.fs.writeStream(`${path}.s`).getWriter();
  for (let at = 0; at < content.length; at += 1000) await writer.write(content.slice(at, at + 1000));
  await writer.close();
  assert.deepEqual(await box.fs.readStream(`${path}.s`).bytes(), content);
  assert.equal((await box.fs.stat(`${path}.s`)).size, content.length);
  await box.fs.rename(`${path}.s`, `${path}.t`);
  await Promise.all([box.fs.remove(path), box.fs.remove(`${path}.t`)]);
}

async function cutting(
  run: ProofRun,
  maxBytesBetween: number,
  body: (box: Devbox, proxy: FaultyProxy) => Promise<void>,
): Promise<void> {
  await using server = await TestServer.start();
  await using proxy = new FaultyProxy({
    port: server.port,
    random: run.random,
    faults: FAULTS,
    maxBytesBetween,
    maxFaults: run.tries,
  });
  const box = await connect(proxy.url, LIVELY);
  proxy.arm();
  let attempts = 0;
  box.onConnectionChange(({ state }) => state === "reconnecting" && attempts++);
  await body(box, proxy);
  await box.close();
  run.remark(`${proxy.summary}; ${attempts} attempts to reconnect`);
}

async function writeRandom(file: string, bytes: number): Promise<string> {
  const hash = createHash("sha256");
  using handle = await Deno.open(file, { write: true, create: true });
  const block = new Uint8Array(65536);
  for (let at = 0; at < bytes; at += block.length) {
    const part = crypto.getRandomValues(block).subarray(0, Math.min(block.length, bytes - at));
    hash.update(part);
    for (let done = 0; done < part.length;) done += await handle.write(part.subarray(done));
  }
  return hash.digest("hex");
}
