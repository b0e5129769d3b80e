/** Shells for captures, on a process backend: started as a plan says, heard until they have ended, leaving nothing behind. */

import type { Clock } from "../clock.ts";
import type { ProcessBackend, ProcessObserver, SpawnedProcess, SpawnRequest } from "../process/backend.ts";
import type { RunShell, ShellCommand } from "./shell_capture.ts";

/** How long output may trail the end of a shell whose helpers keep it open. */
const DRAIN_MS = 200;

/** `plan` says how a command is really started: where, and behind which sandbox. */
export function runShellOn(
  backend: ProcessBackend,
  plan: (command: ShellCommand) => SpawnRequest | Promise<SpawnRequest>,
  clock: Clock,
): RunShell {
  return async (command, output, signal) => {
    const shell = new CapturedShell(output, clock);
    const child = await backend.spawn(await plan(command), shell);
    const end = (): void => {
      // It is reaped in the background: nobody waits for a capture that was given up.
      backend.endTrees([child], { graceMs: 0 }).catch(() => {});
    };
    signal.addEventListener("abort", end);
    if (signal.aborted) end();
    try {
      await shell.ended(child);
    } finally {
      signal.removeEventListener("abort", end);
      child.dispose();
    }
  };
}

class CapturedShell implements ProcessObserver {
  readonly #take: (bytes: Uint8Array) => void;
  readonly #clock: Clock;
  readonly #exited = Promise.withResolvers<void>();
  readonly #outputEnded = Promise.withResolvers<void>();

  constructor(take: (bytes: Uint8Array) => void, clock: Clock) {
    this.#take = take;
    this.#clock = clock;
  }

  output(stream: string, bytes: Uint8Array): void {
    if (stream === "stdout") this.#take(bytes);
  }

  exited(): void {
    this.#exited.resolve();
  }

  outputEnded(): void {
    this.#outputEnded.resolve();
  }

  /** Both the shell and what is to be heard of it. */
  async ended(child: SpawnedProcess): Promise<void> {
    await this.#exited.promise;
    const cancel = this.#clock.setTimer(DRAIN_MS, () => child.stopReading());
    await this.#outputEnded.promise;
    cancel();
  }
}
