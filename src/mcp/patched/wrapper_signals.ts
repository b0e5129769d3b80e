/**
 * Signals that reach the wrapper while a program runs outside in its place. They do not end the wrapper, which waits for
 * the program, but are told to whoever passes them on to the program. Others than these end or stop the wrapper alone.
 */

/** By Linux's numbers: everything that people and programs send to each other, except what nobody can handle. */
const SIGNALS = {
  SIGHUP: 1,
  SIGINT: 2,
  SIGQUIT: 3,
  SIGUSR1: 10,
  SIGUSR2: 12,
  SIGALRM: 14,
  SIGTERM: 15,
  SIGCONT: 18,
  SIGWINCH: 28,
} as const satisfies Partial<Record<Deno.Signal, number>>;

/** From now on until the end. Also those that it was started to ignore: the runtime has made it handle them by then. */
export function tellOwnSignals(tell: (signal: number) => void): void {
  for (const [name, number] of Object.entries(SIGNALS)) {
    Deno.addSignalListener(name as keyof typeof SIGNALS, () => tell(number));
  }
}
