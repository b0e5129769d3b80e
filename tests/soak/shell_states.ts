/** Shell states take no more memory than is meant for all of them, however many sessions keep some. */

import assert from "node:assert/strict";
import { MAX_SHELL_STATES_BYTES } from "../../src/environment/limits.ts";
import type { Client } from "../support/rpc_client.ts";
import { NOTE_RUN, PIPES, SnapshotScene, snapshotTest } from "../support/snapshot_scene.ts";

/** Each state has some 440 KB of variables, and counts twice that. */
snapshotTest(
  "states of all sessions are bounded together: the one not used for longest goes, and is made again",
  async () => {
    await using scene = await SnapshotScene.open(
      `${NOTE_RUN}; for name in A B C D; do printf -v BIG_$name %0110000d 0; done`,
    );
    const tooMany = Math.ceil(MAX_SHELL_STATES_BYTES / (2 * 440_000)) + 2;
    await scene.run("true", { scopeId: "first" });
    await scene.run("true", { scopeId: "second" });
    const clients: Client[] = [];
    for (let count = 2; count < tooMany; count++) {
      if (count % 50 === 2) clients.push(await scene.server.connect());
      if (count === 20) await scene.run("true", { scopeId: "first" });
      const start = { ...scene.params("true", { scopeId: `scope ${count}` }), io: PIPES };
      await clients.at(-1)!.call("process/start", start);
      await clients.at(-1)!.call("process/wait", { processId: start.processId });
    }
    assert.equal(scene.runs, tooMany);
    await scene.run("true", { scopeId: "first" });
    assert.equal(scene.runs, tooMany, "it was used later than others");
    await scene.run("true", { scopeId: "second" });
    assert.equal(scene.runs, tooMany + 1);
    for (const client of clients) await client.close();
  },
);
