/**
 * The methods, loaded after the listener: a server listens and answers `initialize` without them.
 *
 * They bring the schemas of all requests, a third of the whole start-up. Callers that need them wait for the load,
 * which happens once.
 */

import type { InitializeParams } from "../protocol/handshake.ts";
import type { PreparedCall } from "./method_table.ts";

/** What requests are decoded and run with. */
export interface Methods<Context, Scope> {
  /** Undefined: no such method. Throws a domain error when the parameters do not decode. */
  prepare(method: string, params: unknown): PreparedCall<Context, Scope> | undefined;
  /** For parameters that are not obviously right. Throws a domain error when they do not decode. */
  decodeInitialize(params: unknown): InitializeParams;
}

export class LateMethods<Loaded> {
  readonly #load: () => Promise<Loaded>;
  #loading: Promise<Loaded> | null = null;
  #loaded: Loaded | null = null;

  constructor(load: () => Promise<Loaded>) {
    this.#load = load;
  }

  /** Null until they have been loaded. */
  get loaded(): Loaded | null {
    return this.#loaded;
  }

  load(): Promise<Loaded> {
    return this.#loading ??= this.#loadNow();
  }

  async #loadNow(): Promise<Loaded> {
    try {
      return this.#loaded = await this.#load();
    } catch (error) {
      this.#loading = null; // The next caller tries again.
      throw error;
    }
  }
}
