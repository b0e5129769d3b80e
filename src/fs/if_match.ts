/**
 * Conditional writes: they check that a file still has the content the caller has read, and keep that true until the
 * write.
 *
 * The content is digested once. Right before the write the file must be the same file in the same state, under an
 * advisory lock that other servers' conditional writes also take. So if several expect the same content, exactly one
 * finds it. A program that ignores the lock can interfere only in the microseconds between the last look and the write.
 */

import { internalError } from "../errors.ts";
import { EAGAIN } from "../os/errno.ts";
import { lockNow } from "../os/files/file_content.ts";
import { type FileStat, statFd } from "../os/files/file_stat.ts";
import type { ContentDigest } from "../protocol/fs.ts";
import { digestOf } from "./content_digest.ts";
import type { IoContext } from "./io_context.ts";
import { LOCK_RETRY_MS, LOCK_TIMEOUT_MS, MAX_READ_FILE_BYTES } from "./limits.ts";
import { ContentMismatchError, must, tooLarge } from "./map_error.ts";

/**
 * An open file that had the expected content when it was last digested. The descriptor stays with its opener.
 */
export class Expectation {
  readonly #io: IoContext;
  readonly #digest: ContentDigest;
  readonly fd: number;
  #matched: FileStat;

  private constructor(io: IoContext, fd: number, digest: ContentDigest, matched: FileStat) {
    this.#io = io;
    this.fd = fd;
    this.#digest = digest;
    this.#matched = matched;
  }

  /** @throws {ContentMismatchError} when the file has other content */
  static async match(io: IoContext, fd: number, digest: ContentDigest): Promise<Expectation> {
    return new Expectation(io, fd, digest, await matchContent(io, fd, digest));
  }

  /** Waits for the file's advisory lock, which is then held until the descriptor is closed. */
  async lock(): Promise<void> {
    const { clock } = this.#io;
    const deadline = clock.now() + LOCK_TIMEOUT_MS;
    // Other failures mean that this filesystem has no locks. Then the last look must be enough.
    while (lockNow(this.fd) === -EAGAIN) {
      if (clock.now() >= deadline) throw internalError("Cannot write: another program holds a lock on the file");
      await new Promise<void>((resolve) => void clock.setTimer(LOCK_RETRY_MS, resolve));
    }
  }

  /**
   * Whether the path still shows the file in the state that matched. Synchronous: act on it before anything else runs.
   */
  isMet(look: FileStat | number): boolean {
    return typeof look !== "number" && look.version === this.#matched.version;
  }

  /**
   * The look differs, but perhaps only the mode has changed and the content still matches.
   *
   * @throws {ContentMismatchError} when it does not match, or when the path leads to another file
   */
  async matchAgain(look: FileStat | number): Promise<void> {
    if (typeof look === "number") throw new ContentMismatchError(this.#digest, "was removed just now");
    if (look.identity !== this.#matched.identity) throw new ContentMismatchError(this.#digest, "was replaced just now");
    this.#matched = await matchContent(this.#io, this.fd, this.#digest);
  }
}

async function matchContent(io: IoContext, fd: number, expected: ContentDigest): Promise<FileStat> {
  const before = must(statFd(fd));
  if (before.size > MAX_READ_FILE_BYTES) throw tooLarge();
  const actual = await digestOf(io, { fd, size: before.size });
  if (actual !== expected) throw new ContentMismatchError(expected, `has ${actual}`);
  return before;
}
