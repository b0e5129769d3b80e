/** Looking into directories takes turns, and what happens between two of them counts. */

import assert from "node:assert/strict";
import { systemClock } from "../../../src/clock.ts";
import { createIoContext } from "../../../src/fs/io_context.ts";
import { Pacer, Slice } from "../../../src/os/loop/pacer.ts";
import { inScratchDirectory } from "../../support/scratch_directory.ts";
import { eventsHandled, WatchRecorder, watchRequest } from "../../support/watch_recorder.ts";

/** More than one call reads, so that there is a turn while some names are known and others are not. */
const FILES = 3000;

/** Gives way at every opportunity, and does something at the first of them. */
class InterruptingPacer extends Pacer {
  interrupt: (() => Promise<void>) | null = null;

  override slice(signal?: AbortSignal): Slice {
    return new EndlessRest(this, signal);
  }

  override async turn(): Promise<void> {
    const { interrupt } = this;
    this.interrupt = null;
    await interrupt?.();
    await super.turn();
  }
}

class EndlessRest extends Slice {
  override get isOver(): boolean {
    return true;
  }
}

function interruptedTest(
  claim: string,
  body: (recorder: WatchRecorder, pacer: InterruptingPacer, directory: string) => Promise<void>,
): void {
  Deno.test(`fs/watch ${claim}`, () =>
    inScratchDirectory(async (directory) => {
      const pacer = new InterruptingPacer();
      const io = { ...createIoContext(systemClock), pacer };
      const recorder = new WatchRecorder({ io, maxPendingChanges: 10 * FILES });
      await Deno.mkdir(`${directory}/full`);
      for (let index = 0; index < FILES; index++) Deno.writeTextFileSync(`${directory}/full/${index}`, "");
      await Deno.mkdir(`${directory}/root`);
      try {
        await body(recorder, pacer, directory);
      } finally {
        await recorder.end();
      }
    }));
}

interruptedTest("does not tell of files as new that went while it looked", async (recorder, pacer, directory) => {
  const root = `${directory}/root`;
  await recorder.watches.watch(watchRequest(root, { recursive: true, debounceMs: 0 }));
  const interrupted = new Promise<void>((resolve, reject) => {
    pacer.interrupt = async () => {
      for (let index = 0; index < FILES; index++) Deno.removeSync(`${root}/full/${index}`);
      await eventsHandled(recorder).then(resolve, reject);
    };
  });
  await Deno.rename(`${directory}/full`, `${root}/full`);
  await interrupted;
  await Deno.writeTextFile(`${root}/full/last`, "");
  await recorder.until(() => recorder.texts(root).includes("created /full/last"));
  await Deno.mkdir(`${root}/looked`);
  await Deno.mkdir(`${root}/looked/into`);
  await recorder.until(() => recorder.texts(root).includes("created /looked/into"));

  const latest = new Map(recorder.changes.map(({ change }) => [change.path, change.kind]));
  latest.delete(`file://${root}/full/last`);
  const wrong = [...latest].filter(([path, kind]) => path.includes("/full/") && kind !== "removed");
  assert.deepEqual(wrong.slice(0, 3), [], `${wrong.length} files are told to be there that are not`);
});

interruptedTest(
  "does not tell of what was in a directory that went while it looked",
  async (recorder, pacer, directory) => {
    const root = `${directory}/root`;
    await recorder.watches.watch(watchRequest(root, { recursive: true, debounceMs: 0 }));
    const interrupted = new Promise<void>((resolve, reject) => {
      pacer.interrupt = async () => {
        await Deno.rename(`${root}/full`, `${directory}/away`);
        await eventsHandled(recorder).then(resolve, reject);
      };
    });
    await Deno.rename(`${directory}/full`, `${root}/full`);
    await interrupted;
    await Deno.mkdir(`${root}/looked`);
    await Deno.mkdir(`${root}/looked/into`);
    await recorder.until(() => recorder.texts(root).includes("created /looked/into"));
    assert.deepEqual(recorder.texts(root).filter((text) => text.includes("/full/")).slice(0, 3), []);
  },
);

interruptedTest("that ends between a loss and its restart leaves nothing", async (recorder, pacer, directory) => {
  const root = `${directory}/full`;
  const { overflowed, inotify } = spyOnOverflow(recorder);
  pacer.interrupt = () => {
    overflowed();
    recorder.watches.unwatch(1);
    return Promise.resolve();
  };
  await recorder.watches.watch(watchRequest(root, { recursive: true }));
  assert.equal(inotify.size, 0);
});

/** A way to have the kernel lose events when the test wants it. */
function spyOnOverflow({ inotify }: WatchRecorder) {
  const subscribe = inotify.subscribe.bind(inotify);
  const told: (() => void)[] = [];
  inotify.subscribe = (path, mask, listener) => {
    told.push(() => listener.overflowed());
    return subscribe(path, mask, listener);
  };
  return { inotify, overflowed: () => told.slice().forEach((tell) => tell()) };
}
