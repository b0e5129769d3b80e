/** What SIGHUP means to a program that runs for long. */

import type { Logger } from "../log.ts";

export interface HangUpOptions {
  readonly terminalLost: () => void;
  /** Each reads its files again and says so in the log. Null: it has none. */
  readonly reloads: readonly ((() => Promise<unknown>) | null)[];
  readonly log: Logger;
}

/**
 * SIGHUP has two causes: the terminal is gone, or somebody has sent it to have files read again. Somebody who sends it
 * means no harm, so it does not end a program that has no such files.
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
