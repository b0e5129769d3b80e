/**
 * The way down a tree as open directories, for operations that must not be led astray.
 *
 * Every directory is entered from the one above it by a name that is not a link. So whatever is renamed or swapped
 * meanwhile, the operation stays inside its tree. Only the deepest levels stay open; on the way up an older one is
 * reached through `..` and must be the one that was left.
 */

import { internalError } from "../../errors.ts";
import type { ByteString } from "../../os/files/byte_string.ts";
import { closeFd, O_DIRECTORY, O_NOFOLLOW, O_RDONLY, openAt } from "../../os/files/file_calls.ts";
import { statFd } from "../../os/files/file_stat.ts";
import { MAX_OPEN_LEVELS } from "../limits.ts";
import { must } from "../map_error.ts";

const PARENT = ".." as ByteString;

/** Opens a directory by a name that must not be a link. Returns minus the error number when that fails. */
export function openChildDirectory(directory: number, name: ByteString): number {
  return openAt(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
}

type Level = { fd: number } | { identity: string };

export class DirectoryStack {
  readonly #maxOpen: number;
  readonly #levels: Level[];

  /** Takes the descriptor over. */
  constructor(root: number, maxOpen: number = MAX_OPEN_LEVELS) {
    this.#levels = [{ fd: root }];
    this.#maxOpen = maxOpen;
  }

  /** The deepest directory. */
  get current(): number {
    const level = this.#levels.at(-1);
    if (level === undefined || !("fd" in level)) throw new Error("the deepest directory is always open");
    return level.fd;
  }

  /** Goes down. Takes the descriptor over. */
  enter(fd: number): void {
    this.#levels.push({ fd });
    const old = this.#levels.length - 1 - this.#maxOpen;
    const level = this.#levels[old];
    if (level === undefined || !("fd" in level)) return;
    this.#levels[old] = { identity: must(statFd(level.fd)).identity };
    closeFd(level.fd);
  }

  /** Goes up. False at the root, which stays. */
  leave(): boolean {
    const parent = this.#levels.at(-2);
    if (parent === undefined) return false;
    if (!("fd" in parent)) this.#levels[this.#levels.length - 2] = { fd: this.#reopen(parent.identity) };
    closeFd(this.current);
    this.#levels.pop();
    return true;
  }

  close(): void {
    for (const level of this.#levels.splice(0)) if ("fd" in level) closeFd(level.fd);
  }

  #reopen(identity: string): number {
    const fd = openChildDirectory(this.current, PARENT);
    if (fd >= 0) {
      const stat = statFd(fd);
      if (typeof stat !== "number" && stat.identity === identity) return fd;
      closeFd(fd);
    }
    throw internalError("a directory was moved or removed while its tree was being worked on");
  }
}
