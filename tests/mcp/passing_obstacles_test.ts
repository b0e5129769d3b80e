/** What keeps shells from being supervised for a moment does not do so for good. */

import assert from "node:assert/strict";
import { LazyShells } from "../../src/mcp/lazy_shells.ts";
import { FakeSupervisedShells } from "../support/fake_supervised_shells.ts";
import { supervisedTest } from "../support/supervised_scene.ts";

supervisedTest(
  "a machine that had run out of processes is looked at again by the next call, once for all",
  async (scene) => {
    const { backend } = scene.host;
    const spawn = backend.spawn.bind(backend);
    let spawns = 0;
    backend.spawn = (request) => {
      if (++spawns > 1) return spawn(request);
      return Promise.reject(new Error("Cannot start process: Resource temporarily unavailable (os error 11)"));
    };
    const reason = {
      message:
        "Cannot supervise the shell's programs: Cannot start process: Resource temporarily unavailable (os error 11); " +
        "try again when other programs have ended",
    };
    const run = (command: string) => scene.run(command, { sandbox: null });
    await Promise.all([assert.rejects(run("true"), reason), assert.rejects(run("true"), reason)]);
    assert.equal(spawns, 1);
    const outcomes = await Promise.all([run("echo a"), run("echo b")]);
    assert.deepEqual(outcomes.map(({ stdout }) => stdout), ["a\n", "b\n"]);
    await run(":");
    assert.equal(spawns, 1 + 1 + 3, "one look that failed, one that did not, and the commands");
  },
);

Deno.test("shells whose code could not be loaded are loaded for the next call", async () => {
  const fake = new FakeSupervisedShells();
  let loads = 0;
  const shells = new LazyShells(() => ++loads === 1 ? Promise.reject(new Error("not now")) : Promise.resolve(fake));
  await shells.warmUp();
  assert.equal(await shells.obstacle(), null);
  assert.equal(loads, 2);
  await shells.close();
  const broken = new LazyShells(() => Promise.reject(new Error("never")));
  await assert.rejects(broken.obstacle(), /never/);
  await broken.close();
});
