/** A command line as a value: made by a template, changed by methods, run when it is awaited. */

import type { Duration } from "../duration.ts";
import { ProcessFailedError } from "../errors.ts";
import type { CommandOutput } from "./command_output.ts";
import type { ProcessHandle } from "./process_handle.ts";
import type { ShellText } from "./quote.ts";
import type { Sandbox, SpawnOptions } from "./spawn_options.ts";

/** Starts a process. */
export type Spawner = (argv: readonly string[], options: SpawnOptions) => Promise<ProcessHandle>;

interface Settings {
  readonly options: SpawnOptions;
  readonly input: Uint8Array | string | null;
  readonly throwsOnFailure: boolean;
  readonly isShown: boolean;
}

const SHELL = "/bin/sh";
/** How much of the output an error shows. */
const SHOWN_CHARACTERS = 2000;

/**
 * A command that has not been run yet. Awaiting it runs it and gives its `CommandOutput`; a code other than 0 throws a
 * `ProcessFailedError` with the output in it, unless `nothrow()` was called. Methods return a changed copy.
 *
 * ```ts
 * const command: ShellCommand = box.$`npm test -- ${"a name"}`.cwd("/work").env({ CI: "1" }).timeout("10m");
 * console.log(await command.nothrow().text());
 * ```
 */
export class ShellCommand implements PromiseLike<CommandOutput> {
  readonly #spawn: Spawner;
  readonly #text: ShellText;
  readonly #settings: Settings;

  /** For this library: use `` box.$`…` ``. */
  constructor(spawn: Spawner, text: ShellText, settings?: Settings) {
    this.#spawn = spawn;
    this.#text = text;
    this.#settings = settings ?? { options: {}, input: null, throwsOnFailure: true, isShown: false };
  }

  /** Runs it in this directory. */
  cwd(directory: string): ShellCommand {
    return this.#with({ options: { ...this.#settings.options, cwd: directory } });
  }

  /** Adds variables to its environment. */
  env(variables: Readonly<Record<string, string>>): ShellCommand {
    const { options } = this.#settings;
    return this.#with({ options: { ...options, env: { ...options.env, ...variables } } });
  }

  /** Writes this to its input and ends the input. */
  stdin(input: Uint8Array | string): ShellCommand {
    return this.#with({ input });
  }

  /** Ends it after this time. */
  timeout(timeout: Duration): ShellCommand {
    return this.#with({ options: { ...this.#settings.options, timeout } });
  }

  /** Confines it. */
  sandbox(sandbox: Sandbox): ShellCommand {
    return this.#with({ options: { ...this.#settings.options, sandbox } });
  }

  /** Ends it when the signal is aborted. */
  signal(signal: AbortSignal): ShellCommand {
    return this.#with({ options: { ...this.#settings.options, signal } });
  }

  /** Accepts any exit code. */
  nothrow(): ShellCommand {
    return this.#with({ throwsOnFailure: false });
  }

  /** Shows its output on the console while it runs. */
  inherit(): ShellCommand {
    return this.#with({ isShown: true });
  }

  #with(change: Partial<Settings>): ShellCommand {
    return new ShellCommand(this.#spawn, this.#text, { ...this.#settings, ...change });
  }

  /** Runs it and gives what it wrote to standard output, without the newline at its end. */
  async text(): Promise<string> {
    return (await this.#run()).stdoutText.replace(/\r?\n$/, "");
  }

  /** Runs it and parses what it wrote to standard output as JSON. */
  async json<Value = unknown>(): Promise<Value> {
    const text = (await this.#run()).stdoutText;
    try {
      return JSON.parse(text) as Value;
    } catch (error) {
      throw new SyntaxError(`cannot parse the output of ${this.#text.shown} as JSON: ${shorten(text)}`, {
        cause: error,
      });
    }
  }

  /** Runs it and gives what it wrote to standard output line by line, while it runs. */
  async *lines(): AsyncGenerator<string, void, undefined> {
    const handle = await this.spawn();
    try {
      const errors = handle.stderr.text();
      errors.catch(() => {});
      yield* handle.stdout.lines();
      const status = await handle.status;
      if (status.success || !this.#settings.throwsOnFailure) return;
      const stderr = new TextEncoder().encode(await errors);
      throw this.#failure({ ...status, stdout: new Uint8Array(0), stderr });
    } finally {
      // A caller that leaves the loop does not want the rest.
      await handle[Symbol.asyncDispose]();
    }
  }

  /** Runs it and gives what it wrote to standard output. */
  async bytes(): Promise<Uint8Array<ArrayBuffer>> {
    return (await this.#run()).stdout;
  }

  /** Starts it and gives its handle, for callers that want more than its output. Writes the input if one was given. */
  async spawn(): Promise<ProcessHandle> {
    const handle = await this.#start();
    const { input } = this.#settings;
    if (input !== null) handle.feed(input);
    return handle;
  }

  /** Runs it. `await` does the same. */
  then<Result = CommandOutput, Failure = never>(
    onFulfilled?: ((output: CommandOutput) => Result | PromiseLike<Result>) | null,
    onRejected?: ((reason: unknown) => Failure | PromiseLike<Failure>) | null,
  ): Promise<Result | Failure> {
    return this.#run().then(onFulfilled, onRejected);
  }

  async #start(): Promise<ProcessHandle> {
    const { options, input, isShown } = this.#settings;
    const { script, parameters } = this.#text;
    // This is the name that the shell uses for itself in its messages.
    const argv = [SHELL, "-c", script, "sh", ...parameters];
    const handle = await this.#spawn(argv, { ...options, stdin: input === null ? "null" : "piped" });
    if (isShown) handle.show();
    return handle;
  }

  async #run(): Promise<CommandOutput> {
    const { input, throwsOnFailure } = this.#settings;
    const handle = await this.#start();
    const output = await handle.communicate(input ?? undefined);
    if (throwsOnFailure && !output.success) throw this.#failure(output);
    return output;
  }

  #failure(output: Pick<CommandOutput, "code" | "signal" | "endReason" | "stdout" | "stderr">): ProcessFailedError {
    const { code, signal, endReason, stdout, stderr } = output;
    const how = endReason === "timeout"
      ? "ran out of its time"
      : signal !== null
      ? `ended by ${signal}`
      : `code ${code}`;
    const shown = shorten(new TextDecoder().decode(stderr.length > 0 ? stderr : stdout).trimEnd());
    const message = `${this.#text.shown}: ${how}${shown === "" ? "" : `\n${shown}`}`;
    return new ProcessFailedError(message, { code, signal, stdout, stderr });
  }
}

function shorten(text: string): string {
  return text.length <= SHOWN_CHARACTERS ? text : `…${text.slice(-SHOWN_CHARACTERS)}`;
}
