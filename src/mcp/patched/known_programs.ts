/**
 * The programs that every shell with a patched Bash executes, as they were before its first command.
 *
 * Sandboxes that confine files keep them read-only. But some calls have no such sandbox, and what one of them puts in a
 * program's place would run in all later calls, also with more rights. So each is compared before each start.
 */

import { invalidRequest } from "../../errors.ts";
import { toByteString } from "../../os/files/byte_string.ts";
import { AT_FDCWD } from "../../os/files/file_calls.ts";
import { statAt } from "../../os/files/file_stat.ts";

interface KnownProgram {
  readonly path: string;
  /** Which file it was, and when it was last changed. Null when there was none. */
  state: string | null;
  readonly digest: string | null;
}

export class KnownPrograms {
  readonly paths: readonly string[];
  readonly #known: readonly KnownProgram[];

  private constructor(known: readonly KnownProgram[]) {
    this.#known = known;
    this.paths = known.map(({ path }) => path);
  }

  static async lookAt(paths: readonly string[]): Promise<KnownPrograms> {
    return new KnownPrograms(
      await Promise.all(
        paths.map(async (path) => ({ path, state: stateOf(path), digest: await digestOf(path) })),
      ),
    );
  }

  /** Throws when one of them is not what it was. */
  async refuseChanged(): Promise<void> {
    for (const known of this.#known) {
      const state = stateOf(known.path);
      if (state === known.state) continue;
      // A backup may have linked it, or a restore may have put the same content there.
      if (known.digest === null || await digestOf(known.path) !== known.digest) {
        throw invalidRequest(
          `Cannot start a shell: ${known.path} has changed since the first command; if you have changed it, ` +
            "start the server again",
        );
      }
      known.state = state;
    }
  }
}

function stateOf(path: string): string | null {
  const stat = statAt(AT_FDCWD, toByteString(path));
  return typeof stat === "number" ? null : `${stat.identity} ${stat.version}`;
}

async function digestOf(path: string): Promise<string | null> {
  try {
    return new Uint8Array(await crypto.subtle.digest("SHA-256", await Deno.readFile(path))).toHex();
  } catch {
    return null; // Not there, or not ours to read: its state alone counts.
  }
}
