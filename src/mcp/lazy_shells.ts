/**
 * Supervised shells. Their code is loaded with the first shell, so that the server's first answer does not wait for it.
 */

import type { SupervisedShell, SupervisedShellOptions, SupervisedShells } from "./supervised_shell.ts";

export class LazyShells implements SupervisedShells {
  readonly #load: () => Promise<SupervisedShells>;
  #loaded: Promise<SupervisedShells> | null = null;

  constructor(load: () => Promise<SupervisedShells>) {
    this.#load = load;
  }

  /** Loads it now, for a call that will come soon. Never rejects: the call reports the failure. */
  async warmUp(): Promise<void> {
    await this.#shells().then((shells) => shells.obstacle()).catch(() => {});
  }

  async obstacle(): Promise<string | null> {
    return await (await this.#shells()).obstacle();
  }

  async start(options: SupervisedShellOptions): Promise<SupervisedShell> {
    return await (await this.#shells()).start(options);
  }

  async close(): Promise<void> {
    await (await this.#loaded?.catch(() => null))?.close();
  }

  #shells(): Promise<SupervisedShells> {
    const loaded = this.#loaded ??= this.#load();
    // What failed for want of descriptors, or of memory, is tried again for the next call.
    loaded.catch(() => {
      if (this.#loaded === loaded) this.#loaded = null;
    });
    return loaded;
  }
}
