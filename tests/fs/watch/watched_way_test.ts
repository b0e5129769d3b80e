/** What happens to a watched path without anything happening in the directory it lies in: on the way to it. */

import assert from "node:assert/strict";
import { eventsHandled, watchRequest, watchTest } from "../../support/watch_recorder.ts";

watchTest("of a link to a file stays with the link when its target is replaced", async (recorder, directory) => {
  await Deno.mkdir(`${directory}/real`);
  const target = `${directory}/real/f`;
  await Deno.writeTextFile(target, "");
  await Deno.symlink("real/f", `${directory}/second`);
  await Deno.symlink("second", `${directory}/link`);
  await recorder.watches.watch(watchRequest(`${directory}/link`, { debounceMs: 0 }));
  const after = async (...steps: (() => Promise<void>)[]): Promise<string | undefined> => {
    recorder.changes.length = 0;
    for (const step of steps) await step();
    await eventsHandled(recorder);
    return recorder.texts(directory).findLast((text) => text.endsWith(" /link"));
  };
  const isNew = /^(created|modified) \/link$/;

  await Deno.writeTextFile(`${directory}/beside`, "new");
  assert.match(await after(() => Deno.rename(`${directory}/beside`, target)) ?? "", isNew);
  assert.equal(await after(() => Deno.writeTextFile(target, "again")), "modified /link");
  assert.equal(await after(() => Deno.remove(target)), "removed /link");
  assert.match(await after(() => Deno.writeTextFile(target, "back")) ?? "", isNew);
  assert.equal(await after(() => Deno.writeTextFile(target, "again")), "modified /link");
  assert.equal(await after(() => Deno.rename(target, `${directory}/real/away`)), "removed /link");
  await after(() => Deno.rename(`${directory}/real/away`, target));
  assert.equal(await after(() => Deno.remove(`${directory}/real`, { recursive: true })), "removed /link");
  const returns = await after(
    () => Deno.mkdir(`${directory}/real`),
    () => Deno.writeTextFile(target, "once more"),
  );
  assert.match(returns ?? "", isNew);
  assert.equal(await after(() => Deno.writeTextFile(target, "again")), "modified /link");

  await Deno.writeTextFile(`${directory}/other`, "other");
  await Deno.symlink("other", `${directory}/third`);
  assert.match(await after(() => Deno.rename(`${directory}/third`, `${directory}/second`)) ?? "", isNew);
  assert.equal(await after(() => Deno.writeTextFile(`${directory}/other`, "again")), "modified /link");
});

watchTest("of a file sees that a link above it leads elsewhere, and goes there", async (recorder, directory) => {
  for (const version of ["v1", "v2"]) {
    await Deno.mkdir(`${directory}/${version}`);
    await Deno.writeTextFile(`${directory}/${version}/f`, version);
  }
  await Deno.symlink("v1", `${directory}/current`);
  await recorder.watches.watch(watchRequest(`${directory}/current/f`, { debounceMs: 0 }));
  await Deno.symlink("v2", `${directory}/next`);
  await Deno.rename(`${directory}/next`, `${directory}/current`);
  await recorder.until(() => recorder.texts(directory).includes("created /current/f"));
  await Deno.writeTextFile(`${directory}/v2/f`, "changed");
  await recorder.until(() => recorder.texts(directory).includes("modified /current/f"));
});

for (const recursive of [false, true]) {
  watchTest(
    `of a directory ends when one above it is moved, recursive: ${recursive}`,
    async (recorder, directory) => {
      await Deno.mkdir(`${directory}/above/middle/root/sub`, { recursive: true });
      const root = `${directory}/above/middle/root`;
      await recorder.watches.watch(watchRequest(root, { recursive }));
      await Deno.rename(`${directory}/above`, `${directory}/elsewhere`);
      await recorder.until(() => recorder.texts(root).includes("removed ."));
      assert.equal(recorder.inotify.size, 0);
    },
  );

  watchTest(
    `of a directory ends when a link on the way leads elsewhere, recursive: ${recursive}`,
    async (recorder, directory) => {
      for (const version of ["v1", "v2"]) await Deno.mkdir(`${directory}/${version}/root`, { recursive: true });
      await Deno.symlink("v1", `${directory}/current`);
      const root = `${directory}/current/root`;
      await recorder.watches.watch(watchRequest(root, { recursive }));
      await Deno.symlink("v2", `${directory}/next`);
      await Deno.rename(`${directory}/next`, `${directory}/current`);
      await recorder.until(() => recorder.texts(root).includes("removed ."));
      assert.equal(recorder.inotify.size, 0);
    },
  );
}

watchTest("is not woken by what happens in the directories above", async (recorder, directory) => {
  await Deno.mkdir(`${directory}/above/root`, { recursive: true });
  await recorder.watches.watch(watchRequest(`${directory}/above/root`, { recursive: true, debounceMs: 0 }));
  await Deno.writeTextFile(`${directory}/above/f`, "");
  await Deno.chmod(`${directory}/above`, 0o700);
  await Deno.rename(`${directory}/above/f`, `${directory}/above/g`);
  await eventsHandled(recorder);
  assert.deepEqual(recorder.changes.filter(({ watchId }) => watchId === 1), []);
});
