/**
 * What belongs to one client: the sandbox it has set, what it has allowed for good, and its commands. When it goes, all
 * of its commands are ended.
 */

import { invalidRequest } from "../errors.ts";
import { CommandPlaces } from "./command_places.ts";
import { KeptCommands, type KeptCommandsOptions } from "./kept_commands.ts";
import { MAX_CLIENT_COMMANDS, MAX_OPEN_CALLS } from "./limits.ts";
import type { RunningCommand } from "./running_command.ts";
import { type SandboxState, updatedState } from "./sandbox_state.ts";

export interface ConnectionOptions extends KeptCommandsOptions {
  /** Whether everything that comes in through it is from one client. */
  readonly hasSession?: boolean;
  /** Shared with all that count as the same client. Default: with none. */
  readonly places?: CommandPlaces;
  /** The name of the token that lets it in. Default: none has been asked for, or tokens have no names. */
  readonly holder?: string | null;
}

const HOW_TO_MAKE_ROOM = "end one (shell_stop), or start it again when one has ended";

export class McpConnection {
  /** For the audit. Nobody gets in by it. */
  readonly id = crypto.randomUUID();
  readonly holder: string | null;
  readonly kept: KeptCommands;
  readonly #memory = new Set<string>();
  /** Whether everything that comes in through it is from one client. */
  readonly hasSession: boolean;
  readonly #places: CommandPlaces;
  /** Those that have not ended. */
  readonly #commands = new Set<RunningCommand>();
  #hasRun = false;
  #openCalls = 0;
  #state: SandboxState | null = null;
  #isClosed = false;

  constructor({ hasSession = true, holder = null, places = new CommandPlaces(), ...options }: ConnectionOptions) {
    this.holder = holder;
    this.kept = new KeptCommands(options);
    this.#places = places;
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

  /** Whether a command has not ended. */
  get hasCommands(): boolean {
    return this.#commands.size > 0;
  }

  /** Whether nothing would be lost with it, as far as commands and calls go. */
  get isEmpty(): boolean {
    return this.#commands.size === 0 && this.#openCalls === 0 && this.kept.isEmpty;
  }

  /** Whether a command was ever started. */
  get hasRun(): boolean {
    return this.#hasRun;
  }

  /**
   * Starts a command, which ends with the connection. Its place is taken first, and given back when it has ended or could
   * not be started. Throws when there is none.
   */
  start(start: () => RunningCommand): RunningCommand {
    const giveBack = this.#takePlace();
    let command: RunningCommand;
    try {
      command = start();
    } catch (error) {
      giveBack();
      throw error;
    }
    this.#hasRun = true;
    this.#commands.add(command);
    this.kept.keepResults(MAX_CLIENT_COMMANDS - this.#used);
    const leave = () => {
      this.#commands.delete(command);
      giveBack();
    };
    command.finished.then(leave, leave);
    if (this.#isClosed) void command.stop();
    return command;
  }

  /** Counts a call until the returned function is called. Throws when too many wait. */
  enter(): () => void {
    if (this.#openCalls >= MAX_OPEN_CALLS) {
      throw invalidRequest(
        `Cannot serve the call: ${MAX_OPEN_CALLS} others of this client wait for their answers; ` +
          "cancel one, or repeat the call when one has been answered",
      );
    }
    this.#openCalls++;
    return () => void this.#openCalls--;
  }

  get #used(): number {
    return this.#commands.size + this.kept.endedRounds;
  }

  #takePlace(): () => void {
    if (this.#used >= MAX_CLIENT_COMMANDS) {
      throw invalidRequest(
        `Cannot start the command: ${MAX_CLIENT_COMMANDS} others of this client still run or wait; ${HOW_TO_MAKE_ROOM}`,
      );
    }
    const giveBack = this.#places.tryTake();
    if (giveBack === null) {
      throw invalidRequest(
        `Cannot start the command: ${this.#places.max} others still run, in all sessions of the same token or address ` +
          `together; ${HOW_TO_MAKE_ROOM}`,
      );
    }
    return giveBack;
  }

  /** Resolves when nothing of it runs any more. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.kept.clear();
    await Promise.all([...this.#commands].map((command) => command.stop()));
  }
}
