import assert from "node:assert/strict";
import { ConfinedWatch } from "../../../src/fs/confined/confined_watch.ts";
import { listProcesses } from "../../../src/os/children/procfs.ts";
import { namesIn, NO_SANDBOX } from "../../support/sandbox_host.ts";
import { SandboxedFiles } from "../../support/sandboxed_files.ts";
import { assertFails } from "../../support/scratch_directory.ts";
import { until } from "../../support/until.ts";
import { WatchRecorder } from "../../support/watch_recorder.ts";

/** A connection's watches, each under a policy of its own. */
class Scene implements AsyncDisposable {
  readonly recorder = new WatchRecorder();
  readonly sandboxed: SandboxedFiles;

  private constructor(sandboxed: SandboxedFiles) {
    this.sandboxed = sandboxed;
  }

  static async open(): Promise<Scene> {
    return new Scene(await SandboxedFiles.open({ idleMs: 0, briefIdleMs: 0 }));
  }

  get ws(): string {
    return `${this.sandboxed.host.root}/ws`;
  }

  async watch(policy: string, path: string, options: { watchId?: number; recursive?: boolean } = {}): Promise<void> {
    const { host, pool } = this.sandboxed;
    const isDenied = host.service.watchDenials(host.sandbox(policy));
    const confinement = { pool, owner: this, policy: await this.sandboxed.policy(policy), isDenied };
    const request = { watchId: 1, path, recursive: false, debounceMs: 5, ...options };
    await this.recorder.watches.watch(request, (order) => new ConfinedWatch(confinement, order));
  }

  /** Resolves when this has been told of something below `ws`. */
  async told(text: string): Promise<void> {
    await this.recorder.until(() => this.recorder.texts(this.ws).includes(text));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.recorder.end();
    await this.sandboxed[Symbol.asyncDispose]();
  }
}

function watchTest(claim: string, body: (scene: Scene) => Promise<void>): void {
  Deno.test({
    name: `a confined watch ${claim}${NO_SANDBOX === null ? "" : ` (SKIPPED: ${NO_SANDBOX})`}`,
    ignore: NO_SANDBOX !== null,
    async fn() {
      await using scene = await Scene.open();
      await body(scene);
    },
  });
}

watchTest("tells what changes where it may read, and nothing of what is denied or hidden", async (scene) => {
  const { ws } = scene;
  await Deno.writeTextFile(`${ws}/.env`, "");
  await Deno.mkdir(`${ws}/private`);
  await scene.watch("read ws, deny ws/.env, deny ws/private, deny ws/later", ws, { recursive: true });
  await Deno.writeTextFile(`${ws}/.env`, "SECRET=1");
  await Deno.remove(`${ws}/.env`);
  await Deno.writeTextFile(`${ws}/private/key`, "x");
  await Deno.remove(`${ws}/private`, { recursive: true });
  await Deno.writeTextFile(`${ws}/later`, "made after the watch began");
  await Deno.writeTextFile(`${ws}/in.txt`, "content");
  await Deno.mkdir(`${ws}/sub/deep`);
  await scene.told("modified /in.txt");
  await scene.told("created /sub/deep");
  await Deno.writeTextFile(`${ws}/sub/deep/file`, "");
  await scene.told("created /sub/deep/file");
  const silent = scene.recorder.texts(ws).filter((text) => /\.env|private|later/.test(text));
  assert.deepEqual(silent, []);
});

watchTest("of a single file, and of one reached through a link, reports under the given name", async (scene) => {
  const { ws } = scene;
  await Deno.symlink("sub", `${ws}/link`);
  await Deno.writeTextFile(`${ws}/sub/.env`, "");
  await scene.watch("read ws, deny ws/sub/.env", `${ws}/in.txt`, { watchId: 1 });
  await scene.watch("read ws, deny ws/sub/.env", `${ws}/link`, { watchId: 2 });
  await Deno.writeTextFile(`${ws}/in.txt`, "content");
  await scene.told("modified /in.txt");
  await Deno.writeTextFile(`${ws}/sub/.env`, "SECRET=1");
  await Deno.writeTextFile(`${ws}/sub/new`, "");
  await scene.told("created /link/new");
  assert.deepEqual(scene.recorder.texts(ws).filter((text) => text.includes(".env")), []);
});

watchTest("is refused like a read where it may not read", async (scene) => {
  const { ws } = scene;
  const { root } = scene.sandboxed.host;
  await Deno.mkdir(`${ws}/private`);
  const policy = "read ws, deny ws/private";
  await assertFails(scene.watch(policy, `${root}/out`), "notFound", /os error 2/);
  await assertFails(scene.watch(policy, `${ws}/missing`), "notFound", /os error 2/);
  await assertFails(scene.watch(policy, `${ws}/escd`), "notFound", /os error 2/);
  await assertFails(scene.watch(policy, `${ws}/private`), "invalidRequest", /os error 13/);
  assert.equal(scene.recorder.watches.size, 0);
  await scene.watch(policy, ws);
});

watchTest("of a writable root has no placeholders on the disk", async (scene) => {
  const { ws } = scene;
  const before = namesIn(ws);
  await scene.watch("write ws, deny ws/later", ws);
  assert.deepEqual(namesIn(ws), before);
  await Deno.mkdir(`${ws}/.git`);
  await scene.told("created /.git");
});

watchTest("keeps its helper, and lets it go when it ends", async (scene) => {
  const { ws, sandboxed: { pool } } = scene;
  await scene.watch("read ws", ws, { watchId: 1 });
  await scene.watch("read ws", `${ws}/sub`, { watchId: 2 });
  assert.equal(pool.size, 1);
  scene.recorder.watches.unwatch(1);
  await Deno.writeTextFile(`${ws}/in.txt`, "content");
  await Deno.writeTextFile(`${ws}/sub/new`, "");
  await scene.told("created /sub/new");
  assert.deepEqual(scene.recorder.texts(ws).filter((text) => text.endsWith("in.txt")), []);
  scene.recorder.watches.unwatch(2);
  await until(() => pool.size === 0, () => `${pool.size} helpers`);
});

watchTest("that was given up before it began reports nothing and leaves nothing", async (scene) => {
  const starting = scene.watch("read ws", scene.ws);
  await until(() => scene.recorder.watches.size === 1, () => "not begun");
  scene.recorder.watches.unwatch(1);
  await starting;
  await until(() => scene.sandboxed.pool.size === 0, () => `${scene.sandboxed.pool.size} helpers`);
  assert.deepEqual(scene.recorder.changes, []);
});

watchTest("whose helper is killed says that nothing is watched any more", async (scene) => {
  await scene.watch("read ws", scene.ws);
  killHelpersThatSee(scene.ws);
  await scene.told("unwatched .");
});

/** Other tests run beside this one, in this very process: which helper is meant shows in what is mounted in it. */
function killHelpersThatSee(path: string): void {
  for (const { pid } of listProcesses()) {
    try {
      if (Deno.readTextFileSync(`/proc/${pid}/mountinfo`).includes(` ${path} `)) Deno.kill(pid, "SIGKILL");
    } catch {
      // Gone meanwhile.
    }
  }
}
