/**
 * Watched shells. Their code is loaded with the first shell, so that the server's first answer does not wait for it.
 */

import type { WatchedShell, WatchedShellOptions, WatchedShells } from "./watched_shell.ts";

export class LazyShells implements WatchedShells {
  readonly #load: () => Promise<WatchedShells>;
  #loaded: Promise<WatchedShells> | null = null;

  constructor(load: () => Promise<WatchedShells>) {
    this.#load = load;
  }

  /** Loads it now, for a call that will come soon. Never rejects: the call reports the failure. */
  async warmUp(): Promise<void> {
    await this.#shells().then((shells) => shells.obstacle()).catch(() => {});
  }

  async obstacle(): Promise<string | null> {
    return await (await this.#shells()).obstacle();
  }

  async start(options: WatchedShellOptions): Promise<WatchedShell> {
    return await (await this.#shells()).start(options);
  }

  async close(): Promise<void> {
    await (await this.#loaded?.catch(() => null))?.close();
  }

  #shells(): Promise<WatchedShells> {
    const loaded = this.#loaded ??= this.#load();
    // What failed for want of descriptors, or of memory, is tried again for the next call.
    loaded.catch(() => {
      if (this.#loaded === loaded) this.#loaded = null;
    });
    return loaded;
  }
}
