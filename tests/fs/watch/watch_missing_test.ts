import assert from "node:assert/strict";
import { MAX_MISSING_PATHS } from "../../../src/fs/limits.ts";
import { ELSEWHERE } from "../../../src/protocol/fs.ts";
import { inScratchDirectory } from "../../support/scratch_directory.ts";
import { WatchRecorder } from "../../support/watch_recorder.ts";

function test(claim: string, body: (recorder: WatchRecorder, directory: string) => Promise<void>): void {
  Deno.test(`fs/watchMissing ${claim}`, () =>
    inScratchDirectory(async (directory) => {
      const recorder = new WatchRecorder();
      try {
        await body(recorder, directory);
      } finally {
        await recorder.end();
      }
    }));
}

/** One after the other, each with an id of its own. */
class Sequence {
  readonly #recorder: WatchRecorder;
  readonly #directory: string;
  #watchId = 0;

  constructor(recorder: WatchRecorder, directory: string) {
    this.#recorder = recorder;
    this.#directory = directory;
  }

  /** What is answered. */
  watch(missing: string[], present: string | null = null): boolean {
    return this.#recorder.missing.watch({
      watchId: ++this.#watchId,
      missing: missing.map((path) => `${this.#directory}/${path}`),
      present: present === null ? null : `${this.#directory}/${present}`,
    });
  }

  /** Watches, does it, and waits to be told. */
  async told(missing: string[], change: () => void, present: string | null = null): Promise<void> {
    assert.equal(this.watch(missing, present), true);
    change();
    await this.#recorder.until(() => this.#recorder.missingChanged.includes(this.#watchId));
  }
}

test("tells once that something has appeared, however it came", async (recorder, directory) => {
  const sequence = new Sequence(recorder, directory);
  await sequence.told(["file"], () => Deno.writeTextFileSync(`${directory}/file`, ""));
  await sequence.told(["no", "directory"], () => Deno.mkdirSync(`${directory}/directory`));
  await sequence.told(["link"], () => Deno.symlinkSync("nowhere", `${directory}/link`));
  await sequence.told(["renamed"], () => Deno.renameSync(`${directory}/file`, `${directory}/renamed`));
  await sequence.told(["gone"], () => {
    Deno.writeTextFileSync(`${directory}/gone`, "");
    Deno.removeSync(`${directory}/gone`);
  });
  await sequence.told(["deep/below"], () => Deno.mkdirSync(`${directory}/deep`));
  await sequence.told(["deep/below/more"], () => Deno.mkdirSync(`${directory}/deep/below/more`, { recursive: true }));
  assert.deepEqual(recorder.missingChanged, [1, 2, 3, 4, 5, 6, 7]);
  assert.equal(recorder.inotify.size, 0);
});

test("follows links on the way, also to what is not there yet", async (recorder, directory) => {
  const sequence = new Sequence(recorder, directory);
  Deno.symlinkSync("elsewhere/deep", `${directory}/link`);
  await sequence.told(["link/file"], () => Deno.mkdirSync(`${directory}/elsewhere`));
  await sequence.told(["link/file"], () => Deno.mkdirSync(`${directory}/elsewhere/deep`));
  await sequence.told(["link/file"], () => Deno.writeTextFileSync(`${directory}/elsewhere/deep/file`, ""));
  await sequence.told(["link/other"], () => {
    Deno.symlinkSync("nowhere", `${directory}/new`);
    Deno.renameSync(`${directory}/new`, `${directory}/link`);
  });
  await sequence.told(["link/other"], () => Deno.removeSync(`${directory}/link`));
  Deno.symlinkSync("loop", `${directory}/loop`);
  assert.equal(sequence.watch(["loop/file"]), false);
  assert.equal(recorder.inotify.size, 0);
});

test("notices that a directory far above is moved away", async (recorder, directory) => {
  const sequence = new Sequence(recorder, directory);
  Deno.mkdirSync(`${directory}/far/above`, { recursive: true });
  await sequence.told(["far/above/it"], () => Deno.renameSync(`${directory}/far`, `${directory}/moved`));
});

test("tells that what was present has changed in any way, but not what is in it", async (recorder, directory) => {
  const sequence = new Sequence(recorder, directory);
  const present = `${directory}/present`;
  Deno.writeTextFileSync(present, "");
  await sequence.told(["no"], () => Deno.writeTextFileSync(present, "content"), "present");
  await sequence.told(["no"], () => Deno.utimeSync(present, 1, 1), "present");
  await sequence.told(["no"], () => {
    Deno.writeTextFileSync(`${directory}/other`, "");
    Deno.renameSync(`${directory}/other`, present);
  }, "present");
  await sequence.told(["no"], () => Deno.removeSync(present), "present");
  Deno.mkdirSync(present);
  await sequence.told(["no", "sentinel"], () => {
    Deno.writeTextFileSync(`${present}/child`, "");
    assert.deepEqual(recorder.missingChanged, [1, 2, 3, 4]);
    Deno.writeTextFileSync(`${directory}/sentinel`, "");
  }, "present");
});

test("does not watch what is not as the client has seen it, or cannot be watched", (recorder, directory) => {
  const sequence = new Sequence(recorder, directory);
  Deno.writeTextFileSync(`${directory}/there`, "");
  Deno.symlinkSync("nowhere", `${directory}/dangling`);
  assert.equal(sequence.watch([]), false);
  assert.equal(sequence.watch([], "there"), false);
  assert.equal(sequence.watch(["there"]), false);
  assert.equal(sequence.watch(["a", "dangling"]), false);
  assert.equal(sequence.watch(["there/below"]), false);
  assert.equal(sequence.watch(["a"], "missing"), false);
  assert.equal(sequence.watch(["a"], "dangling"), false);
  assert.equal(sequence.watch(Array.from({ length: MAX_MISSING_PATHS + 1 }, (_, index) => `m${index}`)), false);
  const path = `${directory}/a`;
  assert.equal(recorder.missing.watch({ watchId: 99, missing: [path, ELSEWHERE], present: null }), false);
  assert.equal(recorder.missing.watch({ watchId: 99, missing: [path], present: ELSEWHERE }), false);
  assert.equal(recorder.missing.watch({ watchId: 99, missing: ["/"], present: null }), false);
  assert.equal(recorder.inotify.size, 0);
  assert.equal(sequence.watch(Array.from({ length: MAX_MISSING_PATHS }, (_, index) => `m${index}`)), true);
  return Promise.resolve();
});

test("does not watch filesystems that the kernel makes up: it reports no changes there", (recorder, directory) => {
  const watch = (watchId: number, missing: string, present: string | null = null) =>
    recorder.missing.watch({ watchId, missing: [missing], present });
  assert.equal(watch(1, "/proc/missing"), false);
  assert.equal(watch(2, "/sys/missing/below"), false);
  assert.equal(watch(3, `${directory}/a`, "/proc/version"), false);
  assert.equal(recorder.inotify.size, 0);
  assert.equal(watch(4, "/dev/missing"), true);
  return Promise.resolve();
});

test("has one watch per connection: a newer one ends it, its own id does not", async (recorder, directory) => {
  const watch = (watchId: number, path: string) =>
    recorder.missing.watch({ watchId, missing: [`${directory}/${path}`], present: null });
  assert.equal(watch(1, "a"), true);
  assert.equal(watch(1, "b"), false);
  Deno.mkdirSync(`${directory}/a`);
  await recorder.until(() => recorder.missingChanged.length === 1);
  assert.equal(watch(1, "c"), true, "an id that has been told is free");
  assert.equal(watch(2, "d"), true);
  Deno.mkdirSync(`${directory}/c`);
  Deno.mkdirSync(`${directory}/d`);
  await recorder.until(() => recorder.missingChanged.length === 2);
  assert.deepEqual(recorder.missingChanged, [1, 2]);
  assert.equal(watch(3, "e"), true);
  assert.equal(watch(4, "d"), false, "refused, and ends the older one all the same");
  assert.equal(recorder.inotify.size, 0);
});
