/** The watches of an imaginary connection, and everything they tell. */

import { systemClock } from "../../src/clock.ts";
import { Inotify } from "../../src/fs/inotify.ts";
import { createIoContext } from "../../src/fs/io_context.ts";
import { Watches, type WatchesOptions } from "../../src/fs/watch.ts";
import { MissingWatch } from "../../src/fs/watch_missing.ts";
import { Reactor } from "../../src/os/reactor.ts";
import type { FsChange } from "../../src/protocol/fs.ts";

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
