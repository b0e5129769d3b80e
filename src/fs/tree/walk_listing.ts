/**
 * What a walk has found so far, and what it may still look at. It does not read directories itself. It keeps the bounds
 * on depth, directories entered, names examined and bytes of the answer.
 */

import { invalidRequest } from "../../errors.ts";
import type { ByteString } from "../../os/files/byte_string.ts";
import type { FsWalkParams, FsWalkResult } from "../../protocol/fs.ts";
import { joinBytePath, uriOf } from "../byte_path.ts";
import {
  MAX_WALK_DEPTH,
  MAX_WALK_DIRECTORIES,
  MAX_WALK_ENTRIES,
  MAX_WALK_RESULT_BYTES,
  WALK_ITEM_BYTES,
} from "../limits.ts";

/** A listed directory that is to be entered. */
export interface Pending {
  readonly path: ByteString;
  readonly uri: string;
  readonly depth: number;
  /** The last component of the path was a link when it was listed, and may be followed. */
  readonly isLink: boolean;
}

/**
 * `other` counts as examined and is not listed: special files, and links unless they lead to a directory and may be
 * followed. Null for a name that leads to nothing, which does not count at all.
 */
export type ListedKind = "file" | "directory" | "other" | null;

export class WalkListing {
  readonly result: FsWalkResult = { entries: [], errors: [], truncated: false };
  readonly options: FsWalkParams["options"];
  readonly #pending: Pending[] = [];
  /** An index instead of `shift`, which would move thousands of waiting directories each time. */
  #next = 0;
  /** Identities of entered directories. Only links can lead to one twice. */
  readonly #entered = new Set<string>();
  #directories = 0;
  #names = 0;
  #resultBytes = 0;
  #isFull = false;

  /** @throws {DomainError} for limits out of bounds */
  constructor(options: FsWalkParams["options"]) {
    checkLimits(options);
    this.options = options;
  }

  begin(root: ByteString): void {
    this.#pending.push({ path: root, uri: uriOf(root), depth: 0, isLink: true });
  }

  /** The next directory, breadth first; undefined when nothing is left or nothing more may be listed. */
  next(): Pending | undefined {
    return this.#isFull ? undefined : this.#pending[this.#next++];
  }

  /** Whether an opened directory is to be read: none is read twice, and no more than the limit allows. */
  enters(identity: () => string): boolean {
    if (this.options.followDirectorySymlinks) {
      const own = identity();
      if (this.#entered.has(own)) return false;
      this.#entered.add(own);
    }
    if (this.#directories === this.options.maxDirectories) {
      this.result.truncated = true;
      return false;
    }
    this.#directories++;
    return true;
  }

  /** False when nothing more may be listed. */
  list(parent: Pending, name: ByteString, kind: ListedKind, options: { readonly isLink: boolean }): boolean {
    if (kind === null) return true;
    if (this.#names === this.options.maxEntries) return this.#stop();
    this.#names++;
    if (kind === "other") return true;
    const uri = `${parent.uri}${parent.uri.endsWith("/") ? "" : "/"}${uriOf(name).slice("file://".length)}`;
    if (!this.#hasRoomFor(uri)) return this.#stop();
    this.result.entries.push({ path: uri, kind });
    if (kind === "directory" && this.#mayEnter(parent, name)) {
      const { isLink } = options;
      this.#pending.push({ path: joinBytePath(parent.path, name), uri, depth: parent.depth + 1, isLink });
    }
    return true;
  }

  /** Records what could not be read of a directory, and why. */
  fail(directory: Pending, message: string): void {
    if (this.#hasRoomFor(directory.uri)) this.result.errors.push({ path: directory.uri, message });
    else this.#stop();
  }

  #mayEnter(parent: Pending, name: ByteString): boolean {
    return parent.depth < this.options.maxDepth && !(this.options.pruneHiddenDirectories && name.startsWith("."));
  }

  #hasRoomFor(uri: string): boolean {
    this.#resultBytes += uri.length + WALK_ITEM_BYTES;
    return this.#resultBytes <= MAX_WALK_RESULT_BYTES;
  }

  #stop(): false {
    this.#isFull = true;
    this.result.truncated = true;
    return false;
  }
}

/** The texts are the reference's. */
function checkLimits({ maxDepth, maxDirectories, maxEntries }: FsWalkParams["options"]): void {
  if (maxDirectories === 0 || maxEntries === 0) {
    throw invalidRequest("filesystem walk limits must be greater than zero");
  }
  if (maxDepth > MAX_WALK_DEPTH || maxDirectories > MAX_WALK_DIRECTORIES || maxEntries > MAX_WALK_ENTRIES) {
    throw invalidRequest(
      `filesystem walk limits exceed maximums: depth=${MAX_WALK_DEPTH}, directories=${MAX_WALK_DIRECTORIES}, ` +
        `entries=${MAX_WALK_ENTRIES}`,
    );
  }
}
