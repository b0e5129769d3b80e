/**
 * The shell states of one session, and how a start that wants one becomes the command that begins with it. The code for
 * this is loaded with the first such start.
 */

import type { Clock } from "../../clock.ts";
import type { RunShell, ShellCommand, ShellSnapshots, SnapshotRequest } from "./shell_snapshot.ts";
import type { ShellStateLedger } from "./state_ledger.ts";
import type { Logger } from "../../log.ts";
import type { SpawnRequest } from "../../process/backend.ts";
import type { SessionChildren } from "../../process/posix/session_children.ts";
import type { ShellSnapshotParam } from "../../protocol/shell_snapshot.ts";

export interface SnapshotStart {
  readonly snapshot: ShellSnapshotParam;
  /** The start as the client wants it. */
  readonly request: SpawnRequest;
  /** The same start with another command, in the same place and the same sandbox. */
  withCommand(command: ShellCommand): SpawnRequest;
  /** Everything that confines the command. Compared as JSON. */
  readonly confinement: unknown;
}

export interface SessionShellsOptions {
  /** Shells of captures are among them, and end with them. */
  readonly children: SessionChildren;
  readonly clock: Clock;
  readonly log: Logger;
  /** The server's: states are bounded over all sessions. */
  readonly ledger: ShellStateLedger;
}

interface Loaded {
  readonly snapshots: ShellSnapshots;
  runFor(start: SnapshotStart): RunShell;
}

export class SessionShells {
  readonly #options: SessionShellsOptions;
  #loaded: Promise<Loaded> | null = null;
  #isClosed = false;

  constructor(options: SessionShellsOptions) {
    this.#options = options;
  }

  /** What to spawn: the start as it is, or the same from a kept state. */
  async substitute(start: SnapshotStart): Promise<SpawnRequest> {
    const { request, snapshot, confinement } = start;
    const { argv, env, cwd, io, arg0 } = request;
    // A shell goes by its name, and its own path is all that a profile is promised to be read for.
    if (this.#isClosed || arg0 !== null || typeof cwd !== "string") return request;
    const { snapshots, runFor } = await (this.#loaded ??= this.#load());
    const terminal = io.type === "pty" ? { rows: io.rows, cols: io.cols } : null;
    const wish: SnapshotRequest = { argv, env, cwd, snapshot, confinement, terminal };
    const command = await snapshots.prepare(wish, runFor(start));
    return command.argv === argv ? request : start.withCommand(command);
  }

  /** The session ends: captures under way are cancelled. */
  async close(): Promise<void> {
    this.#isClosed = true;
    (await this.#loaded)?.snapshots.close();
  }

  async #load(): Promise<Loaded> {
    const [{ ShellSnapshots }, { runShellOn }] = await Promise.all([
      import("./shell_snapshot.ts"),
      import("./backend_shell.ts"),
    ]);
    const { children, clock, log, ledger } = this.#options;
    return {
      snapshots: new ShellSnapshots({ clock, log, ledger }),
      runFor: ({ request: { io }, withCommand }) => {
        // Nothing is ever typed into a capture.
        const quiet = io.type === "pty" ? io : { type: "pipe", stdin: "closed" } as const;
        return runShellOn(children, (command) => ({ ...withCommand(command), io: quiet }), clock);
      },
    };
  }
}
