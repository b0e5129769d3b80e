/**
 * Shells for captures, among the children of a session: started as a plan says, and read until they have ended. What a
 * profile leaves running stays for the commands that start from its state, and ends with the session.
 */

import type { Clock } from "../../clock.ts";
import type { ProcessObserver, SpawnedProcess, SpawnRequest } from "../../process/backend.ts";
import type { SessionChildren } from "../../process/posix/session_children.ts";
import type { RunShell, ShellCommand } from "./shell_capture.ts";

/** How long output may follow the end of a shell whose helpers keep it open. */
const DRAIN_MS = 200;

/** `plan` says how a command is really started: where, and behind which sandbox. */
export function runShellOn(
  children: SessionChildren,
  plan: (command: ShellCommand) => SpawnRequest,
  clock: Clock,
): RunShell {
  return async (command, output, signal) => {
    const shell = new CapturedShell(output, clock);
    const child = await children.spawn(plan(command), { keepOnSessionEnd: false });
    child.begin(shell);
    const end = (): void => {
      // It is reaped in the background: nobody waits for a cancelled capture.
      children.endOne(child).catch(() => {});
    };
    signal.addEventListener("abort", end);
    if (signal.aborted) end();
    try {
      await shell.ended(child);
    } finally {
      signal.removeEventListener("abort", end);
      child.dispose();
      children.closed(child);
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
    if (stream !== "stderr") this.#take(bytes);
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
