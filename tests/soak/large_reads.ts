/** Large files read by clients that vanish, stall or read on, while the files change: nothing is lost, mixed up or left open. */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { descriptorCount } from "../support/proc.ts";
import { Random } from "../support/random.ts";
import { RawWebSocket } from "../support/raw_websocket.ts";
import { RoundGrowth, WHOLE_COLLECTIONS } from "../support/round_growth.ts";
import { inScratchDirectory } from "../support/scratch_directory.ts";
import { TestServer } from "../support/test_server.ts";
import { until } from "../support/until.ts";

const SEED = Number(Deno.env.get("SOAK_SEED") ?? Date.now() % 1_000_000);
const CLIENTS = 4;
const ROUNDS = 12;
const VISITS_PER_ROUND = 4;
const READS_PER_VISIT = 4;
/** A round asks for some 800 MB: 4 clients, 4 visits, 4 reads of 13 MB on average. One answer in fifty kept is this. */
const MAX_GROWTH_PER_ROUND_MB = 16;

/** Each is one byte all over, so that a part of one that shows up in another is seen. */
const SIZES = [1 << 20, 3_000_001, 20 << 20, 40 << 20];

const digest = (bytes: Uint8Array | string) => createHash("sha256").update(bytes).digest("hex");

Deno.test(
  `${CLIENTS} clients that read large files and mostly vanish, ${
    ROUNDS * VISITS_PER_ROUND
  } times each, beside one that changes (SOAK_SEED=${SEED})`,
  () =>
    inScratchDirectory(async (directory) => {
      await using server = await TestServer.start({
        args: ["--detached-session-ttl-ms", "50"],
        env: WHOLE_COLLECTIONS,
      });
      await using other = await server.connect();
      const files = SIZES.map((size, index) => {
        const content = new Uint8Array(size).fill(index + 1);
        Deno.writeFileSync(`${directory}/${index}`, content);
        return { path: `${directory}/${index}`, digest: digest(content.toBase64()) };
      });
      const changing = `${directory}/changing`;
      const grown = new Uint8Array(8 << 20).fill(0x77);
      Deno.writeFileSync(changing, grown);
      await other.call("fs/readFile", { path: files.at(-1)!.path });
      const descriptorsBefore = descriptorCount(server.pid);

      let isOver = false;
      const change = async () => {
        const random = new Random(SEED + CLIENTS);
        while (!isOver) {
          await Deno.truncate(changing, random.int(grown.length));
          await other.call("environment/status", null);
          await Deno.writeFile(changing, grown, { create: false });
          await other.call("environment/status", null);
        }
      };
      const visit = async (random: Random) => {
        using socket = await RawWebSocket.connect(server.url);
        await socket.handshake();
        const wanted = Array.from({ length: READS_PER_VISIT }, () => random.chance(0.3) ? null : random.pick(files));
        for (const [id, file] of wanted.entries()) {
          const params = { path: file?.path ?? changing };
          await socket.sendText(JSON.stringify({ id, method: "fs/readFile", params }));
        }
        // Some vanish at once, some after an answer or two, some stay.
        for (let answers = random.int(READS_PER_VISIT + 1); answers > 0; answers--) {
          const { id, result, error } = await socket.readMessage();
          assert.equal(error, undefined);
          const file = wanted[id]!;
          if (file !== null) assert.equal(digest(result.dataBase64), file.digest, file.path);
          else {
            const bytes = Uint8Array.fromBase64(result.dataBase64);
            assert.ok(bytes.length <= grown.length && bytes.every((byte) => byte === 0x77), "content of its own");
          }
        }
      };
      const changes = change();
      const randoms = Array.from({ length: CLIENTS }, (_, client) => new Random(SEED + client));
      const options = { rounds: ROUNDS, maxMbPerRound: MAX_GROWTH_PER_ROUND_MB };
      try {
        await new RoundGrowth(server).settle(options, () =>
          Promise.all(randoms.map(async (random) => {
            for (let visits = 0; visits < VISITS_PER_ROUND; visits++) await visit(random);
          })));
      } finally {
        isOver = true;
      }
      await changes;

      const open = () => descriptorCount(server.pid) - descriptorsBefore;
      await until(() => open() <= 0, () => `${open()} descriptors stay open`);
    }),
);
