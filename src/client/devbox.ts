/** A box as its user sees it: runs commands, works with files, and comes back after a lost connection. */

import type { ExecBackend } from "./backend/exec_backend.ts";
import type { CommandOutput } from "./process/command_output.ts";
import type { ProcessHandle } from "./process/process_handle.ts";
import type { CollectOptions, ProcessInfo, ProcessReference } from "./process/process_types.ts";
import { shellText, type TemplateValue } from "./process/quote.ts";
import { ShellCommand } from "./process/shell_command.ts";
import { adopt, spawn } from "./process/spawn.ts";
import type { SpawnOptions } from "./process/spawn_options.ts";
import { waitForPort, type WaitForPortOptions } from "./process/wait_for_port.ts";
import type { OutputPortion, YieldOptions } from "./process/yield_window.ts";
import { DevboxFiles } from "./fs/devbox_files.ts";
import type { ConnectionState } from "./session/connection_state.ts";
import type { Session } from "./session/session.ts";
import type { Tunnel, TunnelOptions } from "./net/tunnel.ts";

/**
 * What the server says about its machine.
 *
 * ```ts
 * const { platformOs, shell, capabilities }: BoxEnvironment = box.environment;
 * console.log(platformOs, shell.path, capabilities.processSnapshot === true);
 * ```
 */
export interface BoxEnvironment {
  /** The user's shell. */
  readonly shell: { readonly name: string; readonly path: string };
  /** The server's version. */
  readonly executorVersion: string;
  /** The server's working directory as a URI, when it still exists. */
  readonly cwd: string | null;
  /** The user's home as a URI. */
  readonly userHomeDir: string | null;
  /** `linux` and the like. */
  readonly platformOs: string;
  /** Where temporary files go: a URI. */
  readonly tempDir: string;
  /** What the server can do beyond the base protocol. A flag that is missing is false. */
  readonly capabilities: Readonly<Record<string, boolean>>;
}

/**
 * How a command is run to its end.
 *
 * ```ts
 * const options: RunOptions = { cwd: "/work", input: "b\na\n", maxBytes: 1_000_000, timeout: "1m" };
 * console.log((await box.run(["sort"], options)).stdoutText);
 * ```
 */
export interface RunOptions extends SpawnOptions, Pick<CollectOptions, "maxBytes"> {
  /** Written to its input, which then ends. */
  readonly input?: Uint8Array | string | undefined;
}

/**
 * How a command is run for a while.
 *
 * ```ts
 * const options: RunUntilOptions = { cwd: "/work", yieldMs: 10_000, maxBytes: 20_000 };
 * console.log((await box.runUntil(["make"], options)).text);
 * ```
 */
export interface RunUntilOptions extends SpawnOptions, Pick<YieldOptions, "yieldMs" | "maxBytes"> {}

/**
 * What a command wrote during some time, and its handle if it still runs.
 *
 * ```ts
 * const portion: RunPortion = await box.runUntil(["make"], { yieldMs: 10_000 });
 * if (portion.process !== null) console.log((await portion.process.pollUntil()).text);
 * ```
 */
export interface RunPortion extends OutputPortion {
  /** Continues with `process.pollUntil()`. Null when the process has ended and written all. */
  readonly process: ProcessHandle | null;
}

/**
 * A connection to a box and its session. Made by `connect`.
 *
 * ```ts
 * await using own: Devbox = await connect("ws://127.0.0.1:9000");
 * console.log((await own.run(["uname", "-s"])).stdoutText, own.connectionState.state);
 * ```
 */
export class Devbox implements ExecBackend, AsyncDisposable {
  /** The files of the box. */
  readonly fs: DevboxFiles;
  readonly #session: Session;

  /** For this library: use `connect`. */
  constructor(session: Session) {
    this.#session = session;
    this.fs = new DevboxFiles(session);
  }

  // ---------------------------------------------------------------- processes

  /**
   * Starts a process and gives its handle.
   *
   * ```ts
   * const build = await box.spawn(["npm", "run", "build"], { cwd: "/work" });
   * for await (const line of build.stdout.lines()) console.log(line);
   * console.log((await build.status).code);
   * ```
   */
  async spawn(argv: readonly string[], options: SpawnOptions = {}): Promise<ProcessHandle> {
    return await spawn(this.#session, argv, options);
  }

  /** Runs a command to its end and returns what it wrote, whatever its exit code. */
  async run(argv: readonly string[], options: RunOptions = {}): Promise<CommandOutput> {
    const { input, maxBytes, ...rest } = options;
    const handle = await this.spawn(argv, { ...rest, ...(input === undefined ? {} : { stdin: "piped" }) });
    return await handle.communicate(input, { maxBytes });
  }

  /**
   * A command line for the shell of the box. Each value stays one word, whatever it holds (a list gives several).
   * `await` runs the command; an exit code other than 0 throws.
   *
   * ```ts
   * const dir = "it's here";
   * await box.$`npm test --prefix ${dir}`;
   * const branch = await box.$`git rev-parse --abbrev-ref HEAD`.cwd("/work").text();
   * ```
   */
  readonly $ = (strings: TemplateStringsArray, ...values: TemplateValue[]): ShellCommand => {
    return new ShellCommand((argv, options) => this.spawn(argv, options), shellText(strings, values));
  };

  /**
   * Runs a command for a while, for the tools of agents: returns when it has ended or after `yieldMs`, with what it wrote
   * so far as bounded text, and with its handle if it still runs.
   */
  async runUntil(argv: readonly string[], options: RunUntilOptions = {}): Promise<RunPortion> {
    const { yieldMs, maxBytes, ...rest } = options;
    const handle = await this.spawn(argv, rest);
    const portion = await handle.pollUntil({ yieldMs, maxBytes });
    return { ...portion, process: portion.running ? handle : null };
  }

  /**
   * The handle of a process that was started before, from its reference (`handle.toJSON()`). Reading continues after
   * what had been read then, or after `afterSeq`; 0 means everything that is retained.
   */
  process(reference: ProcessReference, { afterSeq }: { afterSeq?: number } = {}): ProcessHandle {
    return adopt(this.#session, { ...reference, ...(afterSeq === undefined ? {} : { afterSeq }) });
  }

  /**
   * The processes of this session; with `server` also the kept ones of other sessions. With `details` also what each
   * uses, together with its descendants, if the server can tell.
   */
  async processes(
    { scope = "session", details = false }: { scope?: "session" | "server"; details?: boolean } = {},
  ): Promise<ProcessInfo[]> {
    const all: ProcessInfo[] = [];
    let after: string | undefined;
    do {
      const params = { scope, ...(details ? { details } : {}), ...(after === undefined ? {} : { after }) };
      const { processes, nextAfter } = await this.#session.call("process/list", params);
      all.push(...processes);
      after = nextAfter;
    } while (after !== undefined);
    return all;
  }

  /** Waits until something on the box listens on a TCP port. */
  async waitForPort(port: number, options: WaitForPortOptions = {}): Promise<void> {
    await waitForPort(this.fs, port, options);
  }

  /**
   * A connection to a port of the box's machine, as a pair of streams. Only where the server opens tunnels: on the user's
   * own unix socket, over ssh, or with `--allow-tunnel`.
   */
  async tunnel(port: number, options: TunnelOptions = {}): Promise<Tunnel> {
    const { Tunnel } = await import("./net/tunnel.ts");
    return await Tunnel.open(this.#session, port, options);
  }

  // ---------------------------------------------------------------- the connection

  /** What the server says about its machine. */
  get environment(): BoxEnvironment {
    return this.#session.environmentInfo;
  }

  /** The id by which another connection can resume the session: `resumeSessionId`. */
  get sessionId(): string {
    return this.#session.sessionId;
  }

  /** How long the session waits for its client when the connection is lost. */
  get detachTtlMs(): number {
    return this.#session.detachTtlMs;
  }

  /** Whether the server advertises something, by the name of its flag. */
  has(capability: string): boolean {
    return this.#session.has(capability);
  }

  /** Whether there is a connection. */
  get connectionState(): ConnectionState {
    return this.#session.state;
  }

  /** Calls the listener when the connection is lost, is back, or is over; returns the function that stops it. */
  onConnectionChange(listener: (state: ConnectionState) => void): () => void {
    return this.#session.onStateChange(listener);
  }

  /**
   * Sends any request of the protocol, for those that have no method here. It is repeated after a lost connection if
   * that is safe. `MethodTypes` of `exec-server/protocol` has the types.
   */
  async call<Result = unknown>(
    method: string,
    params: unknown = null,
    options: { readonly signal?: AbortSignal | undefined } = {},
  ): Promise<Result> {
    return await this.#session.request(method, params, { ...options, isForeign: true }) as Result;
  }

  /** Calls the listener for every notification of the server; returns the function that stops it. */
  onNotification(listener: (method: string, params: Record<string, unknown>) => void): () => void {
    return this.#session.listen({ notification: listener });
  }

  /**
   * Ends the session with all its processes, except kept ones, and closes the connection. With `keepSession` only the
   * connection is closed, and the session can be resumed for `detachTtlMs`.
   */
  async close({ keepSession = false }: { keepSession?: boolean } = {}): Promise<void> {
    await this.#session.close({ endSession: !keepSession });
  }

  /** Ends the session and closes the connection. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
