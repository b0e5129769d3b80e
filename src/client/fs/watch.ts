/**
 * Changes of files as an async iterator. The server's watch ends with its connection. It is made again on the next one,
 * and `overflow` says that changes in between were missed.
 */

import type { FsChange } from "../../protocol/fs_results.ts";
import { abortedBy, ConnectionLostError } from "../errors.ts";
import type { Session } from "../session/session.ts";
import { pathOf } from "./paths.ts";

/**
 * What became of a path.
 *
 * ```ts
 * for await (const change of await box.fs.watch("/work")) {
 *   const { kind, path }: FileChange = change;
 *   console.log(kind, path); // `overflow`: changes were missed, look again.
 * }
 * ```
 */
export interface FileChange {
  /** A path of the box. */
  readonly path: string;
  /**
   * `created`, `modified` and `removed` say what became of it. `overflow`: changes at or below it were missed, so look
   * again. `unwatched`: it cannot be watched (any more).
   */
  readonly kind: "created" | "modified" | "removed" | "overflow" | "unwatched";
}

/**
 * Options of a watch.
 *
 * ```ts
 * const options: WatchOptions = { recursive: true, debounceMs: 200 };
 * for await (const { path } of await box.fs.watch("/work", options)) console.log(path);
 * ```
 */
export interface WatchOptions {
  /** Also watches the directories below it. */
  readonly recursive?: boolean | undefined;
  /** How long changes are gathered before they are reported. */
  readonly debounceMs?: number | undefined;
  /** Ends the watch. */
  readonly signal?: AbortSignal | undefined;
}

/** Internal: the sandbox as it is sent. Only changes of files that it allows to be read are reported. */
interface ConfinedWatchOptions extends WatchOptions {
  readonly sandbox?: unknown;
}

/** How many changes are kept for a slow reader. Further ones become one `overflow`. */
const MAX_QUEUED_CHANGES = 16384;

/** Counts the watches of all sessions of this program: no number is used twice. */
let lastWatchId = 0;

type Waiter = PromiseWithResolvers<IteratorResult<FileChange, undefined>>;
const DONE = { done: true, value: undefined } as const;

/**
 * A watch. Made by `box.fs.watch`; ended by leaving the loop, by `close` or by its signal.
 *
 * ```ts
 * await using watch: FileWatch = await box.fs.watch("/work", { recursive: true });
 * console.log((await watch.next()).value?.path);
 * ```
 */
export class FileWatch implements AsyncIterableIterator<FileChange, undefined>, AsyncDisposable {
  readonly #session: Session;
  readonly #path: string;
  readonly #options: ConfinedWatchOptions;
  #watchId = 0;
  #isBegun = false;
  #queue: FileChange[] = [];
  #waiters: Waiter[] = [];
  #end: { readonly error: Error | null } | null = null;
  #stopListening: () => void = () => {};
  readonly #abort = () => this.#finish(abortedBy(this.#options.signal!, "fs/watch"));

  private constructor(session: Session, path: string, options: ConfinedWatchOptions) {
    this.#session = session;
    this.#path = path;
    this.#options = options;
  }

  /** Begins to watch. Every change after this resolves is reported. */
  static async open(session: Session, path: string, options: ConfinedWatchOptions): Promise<FileWatch> {
    const watch = new FileWatch(session, path, options);
    watch.#stopListening = session.listen({
      notification: (method, params) => {
        if (method !== "fs/changed" || params.watchId !== watch.#watchId) return;
        for (const { path, kind } of params.changes as FsChange[]) watch.#add({ path: pathOf(path), kind });
      },
      resumed: () => watch.#again(),
      ended: (error) => watch.#finish(error),
    });
    while (!watch.#isBegun) {
      try {
        await watch.#begin();
        watch.#isBegun = true;
      } catch (error) {
        // The next connection makes it. The caller is still waiting for the watch.
        if (error instanceof ConnectionLostError) continue;
        watch.#finish(null);
        throw error;
      }
    }
    options.signal?.addEventListener("abort", watch.#abort, { once: true });
    return watch;
  }

  async #begin(): Promise<void> {
    const { recursive, debounceMs, signal, sandbox } = this.#options;
    const watchId = this.#watchId = ++lastWatchId;
    await this.#session.call("fs/watch", {
      watchId,
      path: this.#path,
      ...(recursive === undefined ? {} : { recursive }),
      ...(debounceMs === undefined ? {} : { debounceMs }),
      ...(sandbox === undefined ? {} : { sandbox }),
    }, { signal });
  }

  #again(): void {
    if (this.#end !== null || !this.#isBegun) return;
    this.#begin().then(
      () => this.#add({ path: pathOf(this.#path), kind: "overflow" }),
      (error) => {
        // Lost again: the next connection makes the watch.
        if (!(error instanceof ConnectionLostError)) this.#finish(error);
      },
    );
  }

  #add(change: FileChange): void {
    if (this.#end !== null) return;
    const waiter = this.#waiters.shift();
    if (waiter !== undefined) waiter.resolve({ done: false, value: change });
    else if (this.#queue.length < MAX_QUEUED_CHANGES) this.#queue.push(change);
    else this.#queue = [{ path: pathOf(this.#path), kind: "overflow" }];
  }

  #finish(error: Error | null): void {
    if (this.#end !== null) return;
    this.#end = { error };
    this.#stopListening();
    this.#options.signal?.removeEventListener("abort", this.#abort);
    if (this.#session.ended === null) {
      // The watch may have ended with its connection.
      this.#session.call("fs/unwatch", { watchId: this.#watchId }).catch(() => {});
    }
    for (const waiter of this.#waiters.splice(0)) {
      if (error === null) waiter.resolve(DONE);
      else waiter.reject(error);
    }
  }

  /** The next change. */
  next(): Promise<IteratorResult<FileChange, undefined>> {
    const change = this.#queue.shift();
    if (change !== undefined) return Promise.resolve({ done: false, value: change });
    if (this.#end !== null) return this.#end.error === null ? Promise.resolve(DONE) : Promise.reject(this.#end.error);
    const waiter = Promise.withResolvers<IteratorResult<FileChange, undefined>>();
    this.#waiters.push(waiter);
    return waiter.promise;
  }

  /** Ends the watch. */
  close(): void {
    this.#finish(null);
  }

  /** Ends the watch: what is queued is dropped. */
  return(): Promise<IteratorResult<FileChange, undefined>> {
    this.#queue = [];
    this.close();
    return Promise.resolve(DONE);
  }

  /** Itself. */
  [Symbol.asyncIterator](): this {
    return this;
  }

  /** Ends the watch. */
  [Symbol.asyncDispose](): Promise<void> {
    this.close();
    return Promise.resolve();
  }
}
