/** A place where commands run: on a server, or right here. Programs that use this interface need not know which. */

import type { RunOptions } from "../devbox.ts";
import type { DevboxFiles } from "../fs/devbox_files.ts";
import type { CommandOutput } from "../process/command_output.ts";
import type { ProcessHandle } from "../process/process_handle.ts";
import type { SpawnOptions } from "../process/spawn_options.ts";

/**
 * A place where processes run. `remoteBackend` gives one on a server, `localBackend` (of `./local`) one without any
 * server; what holds for the one holds for the other.
 *
 * ```ts
 * async function build(place: ExecBackend): Promise<boolean> {
 *   return (await place.run(["make"], { cwd: "/work" })).success;
 * }
 * console.log(await build(box));
 * ```
 */
export interface ExecBackend extends AsyncDisposable {
  /** Its files. */
  readonly fs: DevboxFiles;
  /** Starts a process. */
  spawn(argv: readonly string[], options?: SpawnOptions): Promise<ProcessHandle>;
  /** Runs a command to its end. */
  run(argv: readonly string[], options?: RunOptions): Promise<CommandOutput>;
  /** Ends everything that was started, except what is kept. */
  close(): Promise<void>;
}
