/** What SIGHUP does to a program that runs for long. */

import type { Logger } from "../log.ts";

export interface HangUpOptions {
  readonly terminalLost: () => void;
  /** Each function reads its files again and logs that. Null: there are no such files. */
  readonly reloads: readonly ((() => Promise<unknown>) | null)[];
  readonly log: Logger;
}

/**
 * SIGHUP has two causes: the terminal is gone, or somebody has sent it so that files are read again. The sender does
 * not want to end the program, so it goes on even if it has no such files.
 */
export function onHangUp({ terminalLost, reloads, log }: HangUpOptions): void {
  const terminals = [Deno.stdin, Deno.stdout, Deno.stderr].filter((stream) => stream.isTerminal());
  const usable = reloads.filter((reload) => reload !== null);
  Deno.addSignalListener("SIGHUP", () => {
    if (terminals.some((stream) => !stream.isTerminal())) terminalLost();
    else if (usable.length === 0) log.info("SIGHUP: there is nothing to read again");
    else void Promise.all(usable.map((reload) => reload()));
  });
}
