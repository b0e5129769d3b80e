/** The backend of this platform, loaded with the first process: start-up does not pay for it. */

import type { Logger } from "../log.ts";
import type { EndReport, ProcessBackend, ProcessObserver, SpawnedProcess, SpawnRequest } from "./backend.ts";

const NOTHING_TO_END: EndReport = { endedCount: 0, survivors: [] };

export class LazyBackend implements ProcessBackend {
  readonly #log: Logger;
  #backend: Promise<ProcessBackend> | null = null;

  constructor(log: Logger) {
    this.#log = log;
  }

  get name(): ProcessBackend["name"] {
    return hasPosixBackend() ? "posix" : "command";
  }

  /** Loads the backend before anything asks for it. */
  async warmUp(): Promise<void> {
    await (this.#backend ??= loadBackend(this.#log));
  }

  async spawn(request: SpawnRequest, observer: ProcessObserver): Promise<SpawnedProcess> {
    this.#backend ??= loadBackend(this.#log);
    return await (await this.#backend).spawn(request, observer);
  }

  async endTrees(processes: readonly SpawnedProcess[], options: { graceMs: number }): Promise<EndReport> {
    return await (await this.#backend)?.endTrees(processes, options) ?? NOTHING_TO_END;
  }

  async close(options: { graceMs: number }): Promise<EndReport> {
    return await (await this.#backend)?.close(options) ?? NOTHING_TO_END;
  }
}

async function loadBackend(log: Logger): Promise<ProcessBackend> {
  if (hasPosixBackend()) {
    const { PosixBackend } = await import("./posix_backend.ts");
    return new PosixBackend({ logger: log });
  }
  const { CommandBackend } = await import("./command_backend.ts");
  log.warn("no FFI: processes have pipes only, and their descendants cannot be found");
  return new CommandBackend();
}

/** Linux, and allowed to call libc. Elsewhere children are started by the runtime, with fewer promises. */
function hasPosixBackend(): boolean {
  return Deno.build.os === "linux" && Deno.permissions.querySync({ name: "ffi" }).state === "granted";
}
