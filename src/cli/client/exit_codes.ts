/**
 * Exit codes of client commands. A command that ran gives its own code, or 128 and the number of the signal that ended
 * it. These are the codes for everything else. They are those of `env`, `timeout` and `ssh`, which scripts know.
 */

export const EXIT = {
  ok: 0,
  /** `--timeout` ended the command. */
  timedOut: 124,
  /** A mistake on this side: the command line, a file that cannot be read, or a request that the server refuses. */
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
/** Nobody reads the output any more: the code of a program that was ended by SIGPIPE. */
export const EXIT_PIPE_CLOSED = SIGNAL_BASE + SIGPIPE;
