/**
 * The portable file system as a server has it that runs without `--allow-ffi`: in a process with the permissions for files
 * and no other. The runtime does more than the kernel where it has to check permissions, links above all, so tests that
 * run with all of them do not show everything.
 */

import { systemClock } from "../../src/clock.ts";
import type { FileSystem } from "../../src/fs/file_system.ts";
import type { HelperEvents, HelperPort } from "../../src/fs/confined/helper_client.ts";
import { HelperPool } from "../../src/fs/confined/helper_pool.ts";
import { ConfinedReader } from "../../src/fs/confined/confined_reader.ts";
import { createIoContext } from "../../src/fs/io_context.ts";
import { SandboxedFileSystem } from "../../src/fs/confined/sandboxed.ts";
import type { FilePolicy } from "../../src/launch/policy/policy.ts";

const PROGRAM = new URL("../fixtures/portable_files.ts", import.meta.url).pathname;
const PERMISSIONS = ["--allow-read", "--allow-write", "--allow-sys", "--deny-ffi", "--no-prompt"];

/** Confines nothing: only says that everything is to be asked of the other process. */
const ASK_ALWAYS: FilePolicy = { base: "hidden", rules: [], missing: [], pinned: [], links: [] };

export class PortableFiles implements AsyncDisposable {
  readonly files: FileSystem;
  readonly #pool: HelperPool;
  readonly #ended: Promise<unknown>[] = [];

  private constructor() {
    this.#pool = new HelperPool({ start: (_, events) => Promise.resolve(this.#start(events)), clock: systemClock });
    this.files = new SandboxedFileSystem({
      pool: this.#pool,
      owner: this,
      policy: ASK_ALWAYS,
      renew: () => Promise.resolve(ASK_ALWAYS),
      reader: new ConfinedReader(createIoContext()),
    });
  }

  static open(): Promise<PortableFiles> {
    return Promise.resolve(new PortableFiles());
  }

  #start(events: HelperEvents): HelperPort {
    const child = new Deno.Command(Deno.execPath(), {
      args: ["run", "--quiet", ...PERMISSIONS, PROGRAM],
      stdin: "piped",
      stdout: "piped",
      stderr: "inherit",
    }).spawn();
    const input = child.stdin.getWriter();
    const reading = (async () => {
      for await (const bytes of child.stdout) events.received(bytes);
      events.ended(`it ended with code ${(await child.status).code}`);
    })();
    this.#ended.push(reading);
    return {
      // A process that does not take it has ended, which everybody is told who waits.
      write: (bytes) => void input.write(bytes).catch(() => {}),
      close: () => void input.close().catch(() => {}),
      kill: () => child.kill("SIGKILL"),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#pool.close();
    await Promise.all(this.#ended);
  }
}
