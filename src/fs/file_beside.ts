/**
 * A new file in the same directory as the file it is going to replace.
 *
 * Where the filesystem and /proc allow it, the file has no name until just before the replacement. So nothing is left
 * behind if this program is killed. Elsewhere it has a name from the beginning.
 */

import type { ByteString } from "../os/files/byte_string.ts";
import {
  AT_FDCWD,
  closeFd,
  nameFile,
  O_CREAT,
  O_EXCL,
  O_TMPFILE,
  O_WRONLY,
  openAt,
  type Place,
  unlinkAt,
} from "../os/files/file_calls.ts";
import { statAt } from "../os/files/file_stat.ts";
import { must } from "./map_error.ts";

const HERE = "." as ByteString;

export class FileBeside {
  /** Open for writing. */
  readonly fd: number;
  readonly #place: Place;
  #isNamed: boolean;

  /** The directory's descriptor still belongs to the caller. */
  constructor(directory: number, mode: number) {
    this.#place = { directory, path: `.exec-server-${crypto.randomUUID()}.tmp` as ByteString };
    const unnamed = openUnnamed(directory, mode);
    this.#isNamed = unnamed === null;
    this.fd = unnamed ?? must(openAt(directory, this.#place.path, O_WRONLY | O_CREAT | O_EXCL, mode));
  }

  /** Gives the file its name, if it has none yet, and returns that name. */
  takeName(): Place {
    if (!this.#isNamed) must(nameFile(this.fd, this.#place));
    this.#isNamed = true;
    return this.#place;
  }

  /** The file now has another name, so `close` has nothing to remove. */
  nameIsGone(): void {
    this.#isNamed = false;
  }

  /** Removes the file, unless it has another name. */
  close(): void {
    closeFd(this.fd);
    if (this.#isNamed) unlinkAt(this.#place.directory, this.#place.path);
  }
}

/** Null where a file without a name is not possible, or could not be named later. */
function openUnnamed(directory: number, mode: number): number | null {
  const fd = openAt(directory, HERE, O_WRONLY | O_TMPFILE, mode);
  if (fd < 0) return null;
  if (typeof statAt(AT_FDCWD, `/proc/self/fd/${fd}` as ByteString) !== "number") return fd;
  closeFd(fd);
  return null;
}
