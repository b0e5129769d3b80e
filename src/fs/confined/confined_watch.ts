/**
 * A watch under a policy that does not make everything readable. It runs in a confined helper, which can watch only
 * what it may read, and only changes to readable paths are passed on to the client.
 *
 * The second rule is needed because a directory reports changes to everything in it, even to a file that is hidden
 * inside the sandbox. The helper's policy is the client's without any writing, so that no placeholders stay on the disk
 * while the watch lives. If the helper is lost, the client is told that nothing is watched any more.
 */

import { internalError } from "../../errors.ts";
import { type ByteString, toByteString } from "../../os/files/byte_string.ts";
import { accessTo, type FilePolicy } from "../../launch/policy/policy.ts";
import { type NativePath, parsePath } from "../../path_uri.ts";
import type { FsChange } from "../../protocol/fs.ts";
import { toBytePath, toNativePath } from "../byte_path.ts";
import { type HelperClient, HelperLostError } from "./helper_client.ts";
import type { HelperOwner, HelperPool } from "./helper_pool.ts";
import type { WatchEvent } from "./helper_protocol.ts";
import type { WatchOrder, WatchSource } from "../watch/open_watch.ts";

export interface ConfinedWatchOptions {
  readonly pool: HelperPool;
  readonly owner: HelperOwner;
  readonly policy: FilePolicy;
  /** Whether the policy denies a path by name, including one that appears later. */
  readonly isDenied: ((path: NativePath) => boolean) | null;
}

export class ConfinedWatch implements WatchSource {
  readonly #options: ConfinedWatchOptions;
  readonly #order: WatchOrder;
  readonly #isReadable: (path: ByteString) => boolean;
  readonly #end = new AbortController();
  /** Where the watched path leads, once that is known. */
  #realRoot: ByteString | null = null;

  constructor(options: ConfinedWatchOptions, order: WatchOrder) {
    this.#options = options;
    this.#order = order;
    const isGranted = grantedBy(options.policy);
    const { isDenied } = options;
    this.#isReadable = (path) => isGranted(path) && isDenied?.(toNativePath(path)) !== true;
  }

  async start(): Promise<void> {
    const { pool, owner, policy } = this.#options;
    const { root, recursive } = this.#order;
    const started = Promise.withResolvers<void>();
    const work = async (client: HelperClient): Promise<void> => {
      // Counts like an open file: the helper must not be ended.
      client.fileOpened();
      const onEvent = (event: WatchEvent): void => {
        if (event.type === "changed") this.#changed(event.changes);
        else {
          this.#realRoot = bytePathOf(event.root);
          started.resolve();
        }
      };
      const params = { path: toNativePath(root), recursive };
      client.call("watch", params, { onEvent, signal: this.#end.signal }).then(
        () => this.#lost(),
        (error) => {
          // Cancelled before it began.
          if (this.#end.signal.aborted) return started.resolve();
          started.reject(error);
          this.#lost();
        },
      ).finally(() => client.fileClosed());
      await started.promise;
    };
    try {
      await pool.hold(owner, withoutWriting(policy), work);
    } catch (error) {
      if (!(error instanceof HelperLostError)) throw error;
      throw internalError(`Cannot watch inside its sandbox: ${error.message}`, error);
    }
  }

  close(): void {
    this.#end.abort();
  }

  #changed(changes: readonly FsChange[]): void {
    for (const { path: uri, kind } of changes) {
      const path = bytePathOf(uri);
      if (kind === "overflow") this.#order.changes.overflow();
      else if (!this.#isReadable(this.#realPath(path))) continue;
      else if (kind === "unwatched") this.#order.changes.addUnwatched(path);
      else this.#order.changes.add(path, kind);
    }
  }

  /** No link is followed below the watched path, so only the part up to the watched path can differ. */
  #realPath(path: ByteString): ByteString {
    const { root } = this.#order;
    if (this.#realRoot === null || this.#realRoot === root) return path;
    return `${this.#realRoot}${path.slice(root.length)}` as ByteString;
  }

  /** The watch ended without being cancelled. */
  #lost(): void {
    if (!this.#end.signal.aborted) this.#order.changes.addUnwatched(this.#order.root);
  }
}

function bytePathOf(uri: string): ByteString {
  return toBytePath(parsePath(uri).native);
}

/** The same view, but nothing can be changed. */
function withoutWriting(policy: FilePolicy): FilePolicy {
  return {
    ...policy,
    base: policy.base === "write" ? "read" : policy.base,
    rules: policy.rules.map((rule) => rule.access === "write" ? { ...rule, access: "read" } : rule),
    missing: [],
    pinned: [],
  };
}

/** In bytes, because not every name is text. */
function grantedBy(policy: FilePolicy): (path: ByteString) => boolean {
  const inBytes = { ...policy, rules: policy.rules.map((rule) => ({ ...rule, path: toByteString(rule.path) })) };
  return (path) => {
    const access = accessTo(inBytes, path);
    return access === "read" || access === "write";
  };
}
