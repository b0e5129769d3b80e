/** The programs a server starts for its own work, and how an embedding program names them. */

import type { HelperCommand } from "../fs/confined/helper_program.ts";

export interface RuntimePaths {
  /**
   * The confined file helper. `"self"`: this executable started again with the one argument `fs-helper`, for a compiled
   * program that has such a mode. Without it the helper is the `main.ts` beside this library's source, run by the same
   * Deno; where there is none (a compiled program, a remote module) sandboxed file requests are refused.
   */
  readonly helper?: HelperCommand | "self";
  /** bubblewrap; without it, it is searched for. It must be root's and writable by root alone in either case. */
  readonly bubblewrap?: string;
}
