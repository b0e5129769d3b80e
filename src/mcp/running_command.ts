/**
 * One command: a supervised shell, its output, its clock, its open questions and its end. It knows nothing of the
 * protocol: calls start it, look at it and wait for it.
 *
 * It always comes to an end: by itself, by its time-out, or because it is stopped. After that nothing that it started
 * still runs.
 */

import type { Clock } from "../clock.ts";
import { CallClock } from "./call_clock.ts";
import { CommandInput } from "./command_input.ts";
import { commandText } from "./command_text.ts";
import { KeptOutput } from "./kept_output.ts";
import { DRAIN_MS, MAX_DENIED_COMMAND_CHARS, MAX_LISTED_DENIALS } from "./limits.ts";
import { PromptDesk } from "./prompt_desk.ts";
import type { ExecCall, SupervisedShell, SupervisedShellOptions, SupervisedShells } from "./supervised_shell.ts";

export interface CommandEnd {
  readonly reason: "exited" | "timedOut" | "stopped";
  readonly exitCode: number;
  /** The signal that ended the shell itself. */
  readonly signal: string | null;
  /** Children still ran after the shell had ended, and were ended too. */
  readonly leftChildren: boolean;
}

export interface Denial {
  readonly command: string;
  readonly reason: string;
}

export interface CommandOptions {
  readonly shells: SupervisedShells;
  readonly clock: Clock;
  readonly timeoutMs: number;
  readonly isSandboxed: boolean;
  readonly shell: Omit<SupervisedShellOptions, "onOutput">;
}

export class RunningCommand {
  readonly input: CommandInput;
  readonly output = new KeptOutput();
  readonly prompts: PromptDesk;
  readonly isSandboxed: boolean;
  /** Rejects with a `DomainError` when nothing could be started. */
  readonly finished: Promise<CommandEnd>;
  readonly #options: CommandOptions;
  readonly #clock: CallClock;
  /** Runs after the shell's end, while its children may still write. */
  #drainClock: CallClock | null = null;
  readonly #denied: Denial[] = [];
  #deniedCount = 0;
  #shell: SupervisedShell | null = null;
  #ending: "timedOut" | "stopped" | null = null;
  #hasFinished = false;
  #durationMs: number | null = null;

  /** Starts at once. `prompts` and `noteDenied` are for the decider. */
  constructor(makeOptions: (command: RunningCommand) => CommandOptions) {
    this.prompts = new PromptDesk({
      onOpened: () => this.#clocks.forEach((clock) => clock.pause()),
      onClosed: () => this.#clocks.forEach((clock) => clock.resume()),
    });
    this.#options = makeOptions(this);
    this.isSandboxed = this.#options.isSandboxed;
    this.input = new CommandInput(this.#options.shell.stdin === "open");
    this.#clock = new CallClock(this.#options.clock, this.#options.timeoutMs, () => this.#end("timedOut"));
    this.finished = this.#run().finally(() => {
      this.#hasFinished = true;
      this.input.ends();
      this.#durationMs = this.#clock.elapsedMs;
      this.#clock.end();
    });
    // Everybody who waits gets the failure. While nobody waits, a failed start must not become an unhandled rejection.
    this.finished.catch(() => {});
  }

  get hasFinished(): boolean {
    return this.#hasFinished;
  }

  /** How long it ran, or runs. */
  get durationMs(): number {
    return this.#durationMs ?? this.#clock.elapsedMs;
  }

  /** The first of its programs that were denied, and how many there were. */
  get denied(): { readonly listed: readonly Denial[]; readonly count: number } {
    return { listed: this.#denied, count: this.#deniedCount };
  }

  noteDenied(call: ExecCall, reason: string): void {
    this.#deniedCount++;
    if (this.#denied.length >= MAX_LISTED_DENIALS) return;
    const { text: command } = commandText(call, MAX_DENIED_COMMAND_CHARS);
    this.#denied.push({ command, reason });
  }

  /** Ends it with everything it started. Resolves when all of it has ended. */
  async stop(): Promise<void> {
    this.#end("stopped");
    await this.finished.catch(() => {});
  }

  #end(reason: "timedOut" | "stopped"): void {
    if (this.#ending !== null || this.#hasFinished) return;
    this.#ending = reason;
    // If it is still starting, it is ended as soon as there is a shell.
    if (this.#shell !== null) this.#terminate(this.#shell);
  }

  /** Its questions are open until nothing runs any more: after a denial its shell would go on with what comes next. */
  #terminate(shell: SupervisedShell): void {
    void shell.terminate().finally(() => {
      for (const prompt of this.prompts.open) prompt.answer({ action: "cancel" });
    });
  }

  async #run(): Promise<CommandEnd> {
    const shell = await this.#options.shells.start({
      ...this.#options.shell,
      onOutput: (stream, bytes) => this.output.append(stream, bytes),
    });
    this.#shell = shell;
    this.input.begins(shell);
    if (this.#ending !== null) this.#terminate(shell);
    const { exitCode, signal } = await shell.exited;
    // The shell has ended in time: what follows cannot time out any more.
    this.#clock.end();
    const isDrained = await this.#drained(shell);
    if (!isDrained) shell.stopReading();
    const leftChildren = !isDrained || (this.#ending === null && await shell.leavesProcesses());
    await shell.terminate();
    return { reason: this.#ending ?? "exited", exitCode, signal, leftChildren };
  }

  get #clocks(): readonly CallClock[] {
    return this.#drainClock === null ? [this.#clock] : [this.#clock, this.#drainClock];
  }

  /** Whether all output has come. Children that hold it open are not waited for, except for answers to their questions. */
  async #drained(shell: SupervisedShell): Promise<boolean> {
    const patience = Promise.withResolvers<boolean>();
    const clock = this.#drainClock = new CallClock(this.#options.clock, DRAIN_MS, () => patience.resolve(false));
    if (this.prompts.open.length > 0) clock.pause();
    try {
      return await Promise.race([shell.closed.then(() => true), patience.promise]);
    } finally {
      clock.end();
    }
  }
}
