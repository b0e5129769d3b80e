import assert from "node:assert/strict";
import { MAX_WATCHES } from "../../../src/fs/limits.ts";
import { SilentFilesystemError } from "../../../src/fs/watch/telling_filesystems.ts";
import { WatchBudget } from "../../../src/fs/watch/watch_budget.ts";
import { toByteString } from "../../../src/os/files/byte_string.ts";
import { AT_FDCWD, closeFd, nameFile, O_TMPFILE, O_WRONLY, openAt } from "../../../src/os/files/file_calls.ts";
import { writeAt } from "../../../src/os/files/file_content.ts";
import { allocate } from "../../../src/os/libc.ts";
import { assertFails } from "../../support/scratch_directory.ts";
import { eventsHandled, watchesAbove, watchRequest, watchTest } from "../../support/watch_recorder.ts";

watchTest("tells what is created, modified, removed and renamed in a directory", async (recorder, directory) => {
  await Deno.writeTextFile(`${directory}/old`, "");
  await recorder.watches.watch(watchRequest(directory));
  const told = (text: string) => recorder.until(() => recorder.texts(directory).includes(text));
  await Deno.writeTextFile(`${directory}/new`, "");
  await told("created /new");
  await Deno.writeTextFile(`${directory}/old`, "content");
  await told("modified /old");
  await Deno.rename(`${directory}/old`, `${directory}/renamed`);
  await told("removed /old");
  await told("created /renamed");
  await Deno.remove(`${directory}/new`);
  await told("removed /new");
  await Deno.mkdir(`${directory}/sub`);
  await told("created /sub");
  await Deno.chmod(`${directory}/renamed`, 0o600);
  await told("modified /renamed");
});

watchTest("without recursion says nothing of what is below", async (recorder, directory) => {
  await Deno.mkdir(`${directory}/sub`);
  await recorder.watches.watch(watchRequest(directory));
  await Deno.writeTextFile(`${directory}/sub/below`, "");
  await Deno.writeTextFile(`${directory}/last`, "");
  await recorder.until(() => recorder.texts(directory).includes("created /last"));
  assert.deepEqual(recorder.texts(directory).filter((text) => text.includes("/sub/")), []);
});

watchTest(
  "with recursion sees directories that were there, and finds what is in new ones",
  async (recorder, directory) => {
    await Deno.mkdir(`${directory}/was/there`, { recursive: true });
    await recorder.watches.watch(watchRequest(directory, { recursive: true }));
    assert.equal(recorder.inotify.size, await watchesAbove(directory) + 3);
    await Deno.writeTextFile(`${directory}/was/there/f`, "");
    await Deno.mkdir(`${directory}/new/deep/tree`, { recursive: true });
    await Deno.writeTextFile(`${directory}/new/deep/tree/f`, "");
    const expected = ["/was/there/f", "/new", "/new/deep", "/new/deep/tree", "/new/deep/tree/f"];
    await recorder.until(() => expected.every((path) => recorder.texts(directory).includes(`created ${path}`)));
    await Deno.writeTextFile(`${directory}/new/deep/tree/g`, "");
    await recorder.until(() => recorder.texts(directory).includes("created /new/deep/tree/g"));
  },
);

watchTest(
  "follows a tree that is moved inside and forgets one that is moved away",
  async (recorder, directory) => {
    await Deno.mkdir(`${directory}/watched/a/b`, { recursive: true });
    await Deno.mkdir(`${directory}/elsewhere`);
    const root = `${directory}/watched`;
    await recorder.watches.watch(watchRequest(root, { recursive: true }));
    await Deno.rename(`${root}/a`, `${root}/c`);
    await recorder.until(() => recorder.texts(root).includes("created /c/b"));
    await Deno.writeTextFile(`${root}/c/b/f`, "");
    await recorder.until(() => recorder.texts(root).includes("created /c/b/f"));
    await Deno.rename(`${root}/c`, `${directory}/elsewhere/c`);
    await recorder.until(() => recorder.texts(root).includes("removed /c"));
    assert.equal(recorder.inotify.size, await watchesAbove(root) + 1);
    await Deno.writeTextFile(`${directory}/elsewhere/c/b/unseen`, "");
    await Deno.writeTextFile(`${root}/last`, "");
    await recorder.until(() => recorder.texts(root).includes("created /last"));
    assert.deepEqual(recorder.texts(root).filter((text) => text.includes("unseen")), []);
  },
);

watchTest("watches a directory that takes the place of another", async (recorder, directory) => {
  await Deno.mkdir(`${directory}/a`);
  await Deno.mkdir(`${directory}/b`);
  await recorder.watches.watch(watchRequest(directory, { recursive: true }));
  await Deno.rename(`${directory}/b`, `${directory}/a`);
  await recorder.until(() => recorder.texts(directory).includes("created /a"));
  await Deno.writeTextFile(`${directory}/a/f`, "");
  await recorder.until(() => recorder.texts(directory).includes("created /a/f"));
  assert.equal(recorder.inotify.size, await watchesAbove(directory) + 2);
});

watchTest(
  "copes with directories that come and go faster than they can be looked at",
  async (recorder, directory) => {
    await recorder.watches.watch(watchRequest(directory, { recursive: true }));
    const storm = new Worker(new URL("../../fixtures/directory_storm.ts", import.meta.url), { type: "module" });
    try {
      const done = new Promise((resolve) => storm.onmessage = resolve);
      storm.postMessage({ directory, times: 1000 });
      await done;
    } finally {
      storm.terminate();
    }
    await recorder.until(() => recorder.texts(directory).includes("created /last"));
    await Deno.writeTextFile(`${directory}/a/b/after`, "");
    await recorder.until(() => recorder.texts(directory).includes("created /a/b/after"));
    assert.equal(recorder.inotify.size, await watchesAbove(directory) + 3);
  },
);

watchTest(
  "of a file sees its content, its removal, its return and its replacement",
  async (recorder, directory) => {
    const path = `${directory}/f`;
    await Deno.writeTextFile(path, "");
    await recorder.watches.watch(watchRequest(path, { debounceMs: 0 }));
    /** What a step comes to, once everything about it has been told. */
    const after = async (step: Promise<void>): Promise<string | undefined> => {
      recorder.changes.length = 0;
      await step;
      await eventsHandled(recorder);
      return recorder.texts(directory).findLast((text) => text.endsWith(" /f"));
    };
    assert.equal(await after(Deno.writeTextFile(path, "content")), "modified /f");
    assert.equal(await after(Deno.remove(path)), "removed /f");
    assert.match(await after(Deno.writeTextFile(path, "back")) ?? "", /^(created|modified) \/f$/);
    await Deno.writeTextFile(`${directory}/other`, "new");
    assert.equal(await after(Deno.rename(`${directory}/other`, path)), "created /f");
    assert.equal(await after(Deno.writeTextFile(path, "the new one")), "modified /f");
  },
);

watchTest("of a link to a file sees the content of its target", async (recorder, directory) => {
  await Deno.mkdir(`${directory}/real`);
  await Deno.writeTextFile(`${directory}/real/f`, "");
  await Deno.symlink("real/f", `${directory}/link`);
  await recorder.watches.watch(watchRequest(`${directory}/link`));
  await Deno.writeTextFile(`${directory}/real/f`, "content");
  await recorder.until(() => recorder.texts(directory).includes("modified /link"));
});

watchTest("tells names that are not UTF-8 exactly", async (recorder, directory) => {
  await recorder.watches.watch(watchRequest(directory));
  const made = await new Deno.Command("bash", { args: ["-c", `touch "$0"/$'caf\\xe9'`, directory] }).output();
  assert.ok(made.success);
  await recorder.until(() => recorder.texts(directory).includes("created /caf%E9"));
});

watchTest("does not tell of files that have no name", async (recorder, directory) => {
  const content = allocate(1);
  await recorder.watches.watch(watchRequest(directory, { debounceMs: 0 }));
  const fd = openAt(AT_FDCWD, toByteString(directory), O_WRONLY | O_TMPFILE, 0o600);
  if (fd < 0) return console.log("SKIPPED: the temporary directory's filesystem has no files without names");
  writeAt(fd, content, 0);
  assert.equal(nameFile(fd, { directory: AT_FDCWD, path: toByteString(`${directory}/named`) }), 0);
  closeFd(fd);
  await Deno.writeTextFile(`${directory}/#12`, "");
  await Deno.writeTextFile(`${directory}/#12`, "a name like any other");
  await eventsHandled(recorder);
  const paths = new Set(recorder.changes.filter(({ watchId }) => watchId === 1).map(({ change }) => change.path));
  assert.deepEqual([...paths], [`file://${directory}/named`, `file://${directory}/%2312`]);
});

watchTest("ends by itself when its root goes", async (recorder, directory) => {
  await Deno.mkdir(`${directory}/root/sub`, { recursive: true });
  await recorder.watches.watch(watchRequest(`${directory}/root`, { recursive: true }));
  await Deno.remove(`${directory}/root`, { recursive: true });
  await recorder.until(() => recorder.texts(directory).includes("removed /root"));
  assert.equal(recorder.inotify.size, 0);
  recorder.watches.unwatch(1);
  recorder.watches.unwatch(1);
});

watchTest("says nothing more after fs/unwatch, and frees its id", async (recorder, directory) => {
  await recorder.watches.watch(watchRequest(directory, { debounceMs: 10_000 }));
  await Deno.writeTextFile(`${directory}/a`, "");
  recorder.watches.unwatch(1);
  assert.equal(recorder.inotify.size, 0);
  await recorder.watches.watch(watchRequest(directory));
  await Deno.writeTextFile(`${directory}/b`, "");
  await recorder.until(() => recorder.changes.length > 0);
  assert.deepEqual(recorder.texts(directory).filter((text) => text.includes("/a")), []);
});

watchTest("refuses impossible watches", async (recorder, directory) => {
  await recorder.watches.watch(watchRequest(directory));
  const kernelWatches = recorder.inotify.size;
  await assertFails(recorder.watches.watch(watchRequest(directory)), "invalidRequest", "watch 1 already exists");
  const missing = recorder.watches.watch(watchRequest(`${directory}/missing`, { watchId: 2 }));
  await assertFails(missing, "notFound", "No such file or directory (os error 2)");
  const slow = recorder.watches.watch(watchRequest(directory, { watchId: 2, debounceMs: 10_001 }));
  await assertFails(slow, "invalidRequest", /debounceMs/);
  for (let watchId = 2; watchId <= MAX_WATCHES; watchId++) {
    await recorder.watches.watch(watchRequest(directory, { watchId }));
  }
  assert.equal(recorder.inotify.size, kernelWatches, "the kernel has one watch for all of them");
  const more = recorder.watches.watch(watchRequest(directory, { watchId: 1000 }));
  await assertFails(more, "invalidRequest", `at most ${MAX_WATCHES} watches may be open per connection`);
});

watchTest(
  "refuses a tree with too many directories, and says so of what comes later",
  async (recorder, directory) => {
    for (const name of ["a", "b"]) await Deno.mkdir(`${directory}/${name}`);
    await recorder.watches.watch(watchRequest(directory, { recursive: true }));
    await Deno.mkdir(`${directory}/c`);
    await Deno.mkdir(`${directory}/d`);
    await recorder.until(() => recorder.texts(directory).includes("unwatched /d"));
    const second = recorder.watches.watch(watchRequest(directory, { watchId: 2, recursive: true }));
    await assertFails(second, "invalidRequest", "Cannot watch: one connection may watch at most 4 directories in all");
    assert.equal(recorder.watches.size, 1);
    await Deno.remove(`${directory}/a`);
    await recorder.until(() => recorder.texts(directory).includes("removed /a"));
    await recorder.watches.watch(watchRequest(`${directory}/b`, { watchId: 2 }));
  },
  { budget: new WatchBudget(4) },
);

watchTest("with a reader that does not read turns a flood into one overflow", async (recorder, directory) => {
  await recorder.watches.watch(watchRequest(directory));
  recorder.hasRoom = false;
  for (let index = 0; index < 50; index++) await Deno.writeTextFile(`${directory}/${index}`, "");
  await eventsHandled(recorder);
  recorder.hasRoom = true;
  recorder.watches.resume();
  await recorder.until(() => recorder.changes.some(({ watchId }) => watchId === 1));
  const own = recorder.changes.filter(({ watchId }) => watchId === 1).map(({ change }) => change.kind);
  assert.deepEqual(own, ["overflow"]);
}, { maxPendingChanges: 20 });

watchTest("refuses the kernel's own files, whose changes are not reported", async (recorder) => {
  const text = "Cannot watch: the kernel does not report changes on this filesystem (proc)";
  await assertFails(recorder.watches.watch(watchRequest("/proc/self")), "invalidRequest", text);
  await assertFails(recorder.watches.watch(watchRequest("/proc", { recursive: true })), "invalidRequest", text);
  await assertFails(recorder.watches.watch(watchRequest("/proc/version")), "invalidRequest", text);
  assert.equal(recorder.inotify.size, 0);
});

/** Terminals come and go there unseen. */
const hasTerminals = SilentFilesystemError.at(toByteString("/dev/pts")) !== null;

watchTest("with recursion reports which filesystems below report no changes (needs /dev/pts)", async (recorder) => {
  await recorder.watches.watch(watchRequest("/dev", { recursive: true }));
  await recorder.until(() => recorder.texts("/dev").includes("unwatched /pts"));
}, { ignore: !hasTerminals });
