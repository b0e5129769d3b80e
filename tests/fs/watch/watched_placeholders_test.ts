import assert from "node:assert/strict";
import { createDirectFileSystem } from "../../../src/fs/direct.ts";
import { RealPlaceholderFiles } from "../../../src/launch/policy/placeholder_files.ts";
import type { PlaceholderClaim } from "../../../src/launch/policy/placeholders.ts";
import { assertFails, inScratchDirectory } from "../../support/scratch_directory.ts";
import { WatchRecorder } from "../../support/watch_recorder.ts";

class Scene {
  readonly recorder = new WatchRecorder();
  readonly directory: string;

  constructor(directory: string) {
    this.directory = directory;
  }

  /** As a sandbox does while it runs. */
  claim(path = ".git"): PlaceholderClaim {
    const missing = { path: `${this.directory}/${path}`, placeholder: "directory", isHidden: false } as const;
    const claim = new RealPlaceholderFiles().claim(missing);
    return typeof claim === "string" ? assert.fail(claim) : claim;
  }

  async watch(recursive: boolean): Promise<void> {
    await this.recorder.watches.watch({ watchId: 1, path: this.directory, recursive, debounceMs: 1 });
  }

  /** Everything told so far, by now: events come in order, so what a last one does not follow was not told. */
  async told(): Promise<string[]> {
    await Deno.writeTextFile(`${this.directory}/last`, "");
    await this.recorder.until(() => this.recorder.texts(this.directory).includes("created /last"));
    return this.recorder.texts(this.directory).filter((text) => !text.endsWith("/last"));
  }
}

function test(claim: string, body: (scene: Scene) => Promise<void>): void {
  Deno.test(claim, () =>
    inScratchDirectory(async (directory) => {
      const scene = new Scene(directory);
      try {
        await body(scene);
      } finally {
        await scene.recorder.end();
      }
    }));
}

for (const recursive of [false, true]) {
  const kind = recursive ? "a recursive watch" : "a watch";

  test(`${kind} does not tell of placeholders that come and go`, async (scene) => {
    const before = scene.claim(".codex");
    await scene.watch(recursive);
    const during = scene.claim(".git");
    before.release();
    during.release();
    for (let round = 0; round < 20; round++) scene.claim(".aws").release();
    const last = scene.claim(".agents");
    assert.deepEqual(await scene.told(), []);
    last.release();
  });

  test(`${kind} tells of a directory that somebody made where a placeholder was`, async (scene) => {
    await scene.watch(recursive);
    const claim = scene.claim();
    const path = `${scene.directory}/.git`;
    await createDirectFileSystem().createDirectory({ path, recursive: false, followSymlinks: true });
    claim.release();
    assert.deepEqual(await scene.told(), ["created /.git"]);
  });

  test(`${kind} tells of a protected directory that is not a placeholder`, async (scene) => {
    await Deno.mkdir(`${scene.directory}/.codex`);
    await scene.watch(recursive);
    await Deno.mkdir(`${scene.directory}/.git`);
    await Deno.remove(`${scene.directory}/.codex`);
    const told = await scene.told();
    assert.ok(told.includes("created /.git") && told.includes("removed /.codex"), told.join());
  });
}

for (const recursive of [false, true]) {
  const what = recursive ? "and what was put into it" : "and no more";
  test(`a watch tells of a placeholder ${what} when it is used`, async (scene) => {
    const seen = (text: string) => scene.recorder.until(() => scene.recorder.texts(scene.directory).includes(text));
    const before = scene.claim(".codex");
    await scene.watch(recursive);
    const during = scene.claim(".git");
    for (const name of [".codex", ".git"]) {
      await Deno.mkdir(`${scene.directory}/${name}/hooks`);
      await seen(`created /${name}`);
      if (recursive) await seen(`created /${name}/hooks`);
    }
    for (const claim of [before, during]) claim.release();
    const expected = ["created /.codex", "created /.codex/hooks", "created /.git", "created /.git/hooks"];
    const told = new Set(await scene.told());
    assert.deepEqual([...told].sort(), expected.filter((text) => recursive || !text.endsWith("hooks")));
  });
}

test("a placeholder itself cannot be watched: there is nothing", async (scene) => {
  const claim = scene.claim();
  const request = { watchId: 1, path: `${scene.directory}/.git`, recursive: false, debounceMs: 1 };
  await assertFails(scene.recorder.watches.watch(request), "notFound", /os error 2/);
  claim.release();
});

test("fs/watchMissing takes a placeholder for missing, and tells when it is used", async (scene) => {
  const claim = scene.claim();
  const missing = [`${scene.directory}/.git`];
  assert.equal(scene.recorder.missing.watch({ watchId: 1, missing, present: null }), true);
  await Deno.writeTextFile(`${scene.directory}/.git/HEAD`, "");
  await scene.recorder.until(() => scene.recorder.missingChanged.includes(1));
  assert.equal(scene.recorder.missing.watch({ watchId: 2, missing, present: null }), false);
  claim.release();
});
