/** Bursts of changes: every one is seen, or the client is told that some were not. */

import assert from "node:assert/strict";
import { inScratchDirectory } from "../support/scratch_directory.ts";
import { WatchRecorder } from "../support/watch_recorder.ts";

const CHANGES = 20_000;

/** Another process makes `CHANGES` files in directories that it makes as it goes, and then one called `last`. */
function makeFiles(directory: string): Promise<Deno.CommandOutput> {
  const script = `
    cd "$0"
    for d in $(seq 1 20); do
      mkdir -p "d$d/sub"
      (cd "d$d/sub" && seq -f 'f%g' 1 ${CHANGES / 20} | xargs touch)
    done
    touch last`;
  return new Deno.Command("bash", { args: ["-c", script, directory] }).output();
}

for (const maxPendingChanges of [50_000, 500]) {
  const room = maxPendingChanges > CHANGES ? "when there is room for all" : "when there is not";
  Deno.test(`fs/watch under ${CHANGES} quick changes, ${room}, misses none without saying so`, () =>
    inScratchDirectory(async (directory) => {
      const recorder = new WatchRecorder({ maxPendingChanges });
      try {
        await recorder.watches.watch({ watchId: 1, path: directory, recursive: true, debounceMs: 5 });
        const made = await makeFiles(directory);
        assert.ok(made.success, new TextDecoder().decode(made.stderr));
        await recorder.until(() => recorder.hasOverflowed || recorder.paths.size >= CHANGES + 41);

        const expected = ["last"];
        for (let d = 1; d <= 20; d++) {
          expected.push(`d${d}`, `d${d}/sub`);
          for (let f = 1; f <= CHANGES / 20; f++) expected.push(`d${d}/sub/f${f}`);
        }
        const missed = expected.filter((name) => !recorder.paths.has(`file://${directory}/${name}`));
        assert.ok(
          missed.length === 0 || recorder.hasOverflowed,
          `${missed.length} missed silently, such as ${missed[0]}`,
        );
        assert.deepEqual(recorder.changes.filter(({ change }) => change.kind === "unwatched"), []);

        // Whatever happened, it works afterwards, also in directories that only came with the burst.
        await Deno.writeTextFile(`${directory}/d20/sub/after`, "");
        await recorder.until(() => recorder.paths.has(`file://${directory}/d20/sub/after`));
      } finally {
        await recorder.end();
      }
    }));
}

Deno.test("fs/watch tells when the kernel's own queue overflows, and watches everything anew", () =>
  inScratchDirectory(async (directory) => {
    const limit = Number(await Deno.readTextFile("/proc/sys/fs/inotify/max_queued_events"));
    const recorder = new WatchRecorder({ maxPendingChanges: 10 * limit });
    try {
      await recorder.watches.watch({ watchId: 1, path: directory, recursive: true, debounceMs: 5 });
      // The event loop does not get a turn, so that the kernel has to keep all of it. Two events per file.
      Deno.mkdirSync(`${directory}/made/during`, { recursive: true });
      for (let index = 0; index < limit / 2 + 1000; index++) {
        const path = `${directory}/${index % 2}`;
        Deno.writeTextFileSync(path, "x");
        Deno.removeSync(path);
      }
      Deno.mkdirSync(`${directory}/made/unseen`);
      await recorder.until(() => recorder.hasOverflowed);
      await Deno.writeTextFile(`${directory}/made/unseen/f`, "");
      await recorder.until(() => recorder.texts(directory).includes("created /made/unseen/f"));
    } finally {
      await recorder.end();
    }
  }));
