/**
 * What every portable operation shares: why it is used, a bound on calls that may wait for a device, and looks at
 * files.
 *
 * All calls run on the runtime's pool of threads, except writing: the runtime writes on the calling thread. So content
 * is written in parts, with a turn of the event loop in between.
 */

import type { Clock } from "../../clock.ts";
import { sharedPacer, type Slice } from "../../os/loop/pacer.ts";
import { BlockingCalls } from "../blocking_calls.ts";
import { factsOf, type FileFacts } from "./paths.ts";
import { told } from "./runtime_error.ts";

export class PortableContext {
  readonly clock: Clock;
  /** Why the C library is not used, for refusals. */
  readonly reason: string;
  readonly #blocking = new BlockingCalls();

  constructor(options: { readonly clock: Clock; readonly reason: string }) {
    this.clock = options.clock;
    this.reason = options.reason;
  }

  /** A call of the runtime that may wait. Rejects with a domain error. */
  call<Value>(call: () => Promise<Value>): Promise<Value> {
    return told(this.#blocking.run(call));
  }

  /** Null when it fails, for any reason. */
  async attempt<Value>(call: () => Promise<Value>): Promise<Value | null> {
    try {
      return await this.#blocking.run(call);
    } catch {
      return null; // The caller asks whether, not why.
    }
  }

  /** Looks at what a path leads to, or with `lstat` at the last link itself. */
  look(path: string, how: "stat" | "lstat" = "lstat"): Promise<FileFacts> {
    return this.call(() => look(path, how));
  }

  /** Null when nothing is found there, for any reason. */
  lookIfThere(path: string, how: "stat" | "lstat" = "lstat"): Promise<FileFacts | null> {
    return this.attempt(() => look(path, how));
  }

  /** Shares time for one operation that passes content on: sockets get their turns in between. */
  slice(signal?: AbortSignal): Slice {
    return sharedPacer().slice(signal);
  }

  /** Resolves on a later turn of the event loop. */
  async rest(): Promise<void> {
    await sharedPacer().turn();
  }
}

async function look(path: string, how: "stat" | "lstat"): Promise<FileFacts> {
  const info = await Deno[how](path);
  return factsOf({ ...info, modifiedAtMs: info.mtime?.getTime(), createdAtMs: info.birthtime?.getTime() });
}
