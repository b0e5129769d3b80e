/** The watches of an imaginary connection, and everything they tell. */

import { systemClock } from "../../src/clock.ts";
import { Inotify } from "../../src/fs/watch/inotify.ts";
import { createIoContext } from "../../src/fs/io_context.ts";
import { Watches, type WatchesOptions, type WatchRequest } from "../../src/fs/watch/connection_watches.ts";
import { MissingWatch } from "../../src/fs/watch/watch_missing.ts";
import { Reactor } from "../../src/os/loop/reactor.ts";
import type { FsChange } from "../../src/protocol/fs.ts";
import { inScratchDirectory } from "./scratch_directory.ts";

export class WatchRecorder {
  readonly #reactor = new Reactor();
  readonly inotify = new Inotify(() => this.#reactor);
  readonly watches: Watches;
  readonly missing: MissingWatch;
  /** In the order they were told. */
  readonly changes: { watchId: number; change: FsChange }[] = [];
  /** URIs of all changes, and whether one was an overflow. */
  readonly paths = new Set<string>();
  hasOverflowed = false;
  /** Ids of `fs/missingChanged`. */
  readonly missingChanged: number[] = [];
  hasRoom = true;
  #told: (() => void)[] = [];

  constructor(options: Partial<WatchesOptions> = {}) {
    this.watches = new Watches({
      inotify: this.inotify,
      io: createIoContext(systemClock),
      hasRoom: () => this.hasRoom,
      changed: ({ watchId, changes }) => {
        for (const change of changes) {
          this.changes.push({ watchId, change });
          this.paths.add(change.path);
          this.hasOverflowed ||= change.kind === "overflow";
        }
        this.#wake();
      },
      ...options,
    });
    this.missing = new MissingWatch({
      inotify: this.inotify,
      changed: ({ watchId }) => {
        this.missingChanged.push(watchId);
        this.#wake();
      },
    });
  }

  /** `kind path`, with the directory cut off. */
  texts(directory: string): string[] {
    return this.changes.map(({ change }) => `${change.kind} ${change.path.slice(`file://${directory}`.length) || "."}`);
  }

  /** Resolves when what was told satisfies the condition. */
  async until(isEnough: () => boolean): Promise<void> {
    while (!isEnough()) await new Promise<void>((resolve) => this.#told.push(resolve));
  }

  /** Ends everything; also makes sure that nothing is left behind. */
  async end(): Promise<void> {
    this.watches.closeAll();
    this.missing.closeAll();
    if (this.inotify.size !== 0) throw new Error(`${this.inotify.size} watches are left`);
    await this.#reactor.idle();
  }

  #wake(): void {
    for (const resolve of this.#told.splice(0)) resolve();
  }
}

/** Registers a test of `fs/watch`, which also makes sure that no watch is left behind. */
export function watchTest(
  claim: string,
  body: (recorder: WatchRecorder, directory: string) => Promise<void>,
  { ignore = false, ...options }: Partial<WatchesOptions> & { ignore?: boolean } = {},
): void {
  const fn = () =>
    inScratchDirectory(async (directory) => {
      const recorder = new WatchRecorder(options);
      try {
        await body(recorder, directory);
      } finally {
        await recorder.end();
      }
    });
  Deno.test({ name: `fs/watch ${claim}`, ignore, fn });
}

export function watchRequest(path: string, options: Partial<WatchRequest> = {}): WatchRequest {
  return { watchId: 1, path, recursive: false, debounceMs: 5, ...options };
}

/** The kernel's watches of what lies on the way to a directory, which every watch of it has. */
export async function watchesAbove(directory: string): Promise<number> {
  const alone = new WatchRecorder();
  await alone.watches.watch(watchRequest(directory));
  const { size } = alone.inotify;
  await alone.end();
  return size - 1;
}

/** Resolves when everything that has happened so far has reached the watches. */
export async function eventsHandled(recorder: WatchRecorder): Promise<void> {
  await inScratchDirectory(async (elsewhere) => {
    const [sentinel, watchId] = [`${elsewhere}/sentinel`, 99];
    const hadRoom = recorder.hasRoom;
    await Deno.writeTextFile(sentinel, "");
    await recorder.watches.watch(watchRequest(sentinel, { watchId, debounceMs: 0 }));
    recorder.hasRoom = true;
    // The kernel keeps one order: who is told of the sentinel has been told of all before it.
    await Deno.writeTextFile(sentinel, "x");
    await recorder.until(() => recorder.changes.some((change) => change.watchId === watchId));
    recorder.hasRoom = hadRoom;
    recorder.watches.unwatch(watchId);
  });
}
