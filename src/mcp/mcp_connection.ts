/**
 * What belongs to one client: the sandbox it has set, what it has allowed for good, and its commands. When it goes, all
 * of its commands are ended.
 */

import { KeptCommands, type KeptCommandsOptions } from "./kept_commands.ts";
import type { RunningCommand } from "./running_command.ts";
import { type SandboxState, updatedState } from "./sandbox_state.ts";

export interface ConnectionOptions extends KeptCommandsOptions {
  /** Whether everything that comes in through it is from one client. */
  readonly hasSession?: boolean;
}

export class McpConnection {
  readonly kept: KeptCommands;
  readonly #memory = new Set<string>();
  /** Whether everything that comes in through it is from one client. */
  readonly hasSession: boolean;
  readonly #commands = new Set<RunningCommand>();
  #state: SandboxState | null = null;
  #isClosed = false;

  constructor({ hasSession = true, ...options }: ConnectionOptions) {
    this.kept = new KeptCommands(options);
    this.hasSession = hasSession;
  }

  /**
   * Programs that the client has allowed for the rest of the session. Without a session: for the rest of the command.
   */
  get memory(): Set<string> {
    return this.hasSession ? this.#memory : new Set();
  }

  /** What the client has set by an update. A client that has set it is one of the reference's time. */
  get state(): SandboxState | null {
    return this.#state;
  }

  /** Throws when the state does not decode; then the old one stays. `tmpdir` as commands have it. */
  update(params: unknown, tmpdir: string | undefined): void {
    this.#state = updatedState(params, tmpdir);
  }

  /** The command ends with the connection. */
  own(command: RunningCommand): void {
    this.#commands.add(command);
    const leave = () => this.#commands.delete(command);
    command.finished.then(leave, leave);
    if (this.#isClosed) void command.stop();
  }

  /** Resolves when nothing of it runs any more. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.kept.clear();
    await Promise.all([...this.#commands].map((command) => command.stop()));
  }
}
