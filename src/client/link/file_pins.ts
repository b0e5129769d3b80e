/**
 * The keys of executors in a file, a line each, as `known_hosts` of ssh: the rendezvous, the executor, the fingerprint.
 * Needs a runtime with `node:fs`: Deno, Node or Bun, not a browser.
 *
 * Promises: only its owner can read or change the file; a key is written once and never changed, however many programs
 * connect at the same time; a file that cannot be read refuses every connection, since it may hold a key. Removing a line
 * forgets the key.
 */

import { messageOf } from "../../errors.ts";
import type { PinStore } from "./rendezvous_transport.ts";

/**
 * Keys remembered in this file. It is made at the first connection; its directory must be there.
 *
 * ```ts
 * const pins = filePins("/home/me/.config/known_executors");
 * await using far = await connect({ rendezvous: "https://meet.example.com", executor: "box-1", pins }, { token: "…" });
 * ```
 */
export function filePins(path: string): PinStore {
  return {
    /** The first line counts: if two programs connect for the first time at the same moment, both use the same key. */
    async get(name) {
      const { readFile } = await import("node:fs/promises");
      let text: string;
      try {
        text = await readFile(path, "utf8");
      } catch (error) {
        if ((error as { code?: string }).code === "ENOENT") return null;
        throw new Error(`cannot read the keys of executors: ${messageOf(error)}`, { cause: error });
      }
      for (const line of text.split("\n")) {
        const at = line.trimEnd().lastIndexOf(" ");
        if (at > 0 && line.slice(0, at) === name) return line.slice(at + 1).trim();
      }
      return null;
    },
    async set(name, fingerprint) {
      const { appendFile } = await import("node:fs/promises");
      try {
        // One write to the end of the file, so that lines of several programs do not mix.
        await appendFile(path, `${name} ${fingerprint}\n`, { mode: 0o600, flush: true });
      } catch (error) {
        throw new Error(`cannot remember the executor's key: ${messageOf(error)}`, { cause: error });
      }
    },
  };
}
