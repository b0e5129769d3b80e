/** What SIGHUP means to a program that runs for long. */

/** SIGHUP has two causes: the terminal is gone, or somebody has sent it. */
export function onHangUp({ terminalLost, asked }: { terminalLost: () => void; asked: () => void }): void {
  const hasTerminal = Deno.stdin.isTerminal();
  Deno.addSignalListener("SIGHUP", () => {
    if (hasTerminal && !Deno.stdin.isTerminal()) terminalLost();
    else asked();
  });
}
