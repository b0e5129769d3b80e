/** What users may say about a server inside their own program. */

import type { ServingOptions } from "../server/server.ts";

/**
 * How processes are run. What is left out is as a server has it that is told nothing.
 *
 * ```ts
 * import { createTestServer, type LocalOptions } from "exec-server/local";
 *
 * const options: LocalOptions = { sandbox: "refuse", detachTtlMs: 5000 };
 * await using server = await createTestServer(options);
 * console.log(server.url);
 * ```
 */
export interface LocalOptions {
  /** What confines processes that are to be confined. `refuse` turns them down. */
  readonly sandbox?: "auto" | "bubblewrap" | "landlock" | "refuse" | undefined;
  /** How long a session waits for a client whose connection is lost. */
  readonly detachTtlMs?: number | undefined;
  /** Output kept of each process. */
  readonly retainedOutputBytes?: number | undefined;
}

/** The same for the server. */
export function servingOptions({ sandbox, detachTtlMs, retainedOutputBytes }: LocalOptions): ServingOptions {
  return {
    ...(sandbox === undefined ? {} : { sandbox }),
    ...(detachTtlMs === undefined ? {} : { detachedSessionTtlMs: detachTtlMs }),
    ...(retainedOutputBytes === undefined ? {} : { processes: { retainedOutputBytes } }),
  };
}
