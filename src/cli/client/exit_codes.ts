/**
 * How client commands end. A command that ran ends with its own code, or with 128 and the number of the signal that ended
 * it; these are the codes of everything else. They are those of `env`, `timeout` and `ssh`, so that scripts know them.
 */

export const EXIT = {
  ok: 0,
  /** `--timeout` ended the command. */
  timedOut: 124,
  /** The mistake is on this side: the command line, a file that cannot be read, a request that the server refuses. */
  ownError: 125,
  /** The program is there and cannot be executed. */
  cannotExecute: 126,
  /** There is no such program. */
  notFound: 127,
  /** There is no connection, or it was lost for good. */
  noConnection: 255,
} as const;

/** Added to the number of the signal that ended a command. */
export const SIGNAL_BASE = 128;
const SIGPIPE = 13;
/** Nobody reads what is printed any more: what a program says that was ended by the signal for it. */
export const EXIT_PIPE_CLOSED = SIGNAL_BASE + SIGPIPE;
