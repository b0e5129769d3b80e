/** A real server as a child process in remote mode, which listens nowhere: its log tells how far it is. */

import { serverCommand, ServerLog } from "./test_server.ts";

export interface RemoteChildOptions {
  readonly args: readonly string[];
  readonly env?: Record<string, string>;
  /** Words before the program: another program that starts it. */
  readonly prefix?: readonly string[];
  /** Whether standard input stays open, for `input`. */
  readonly hasInput?: boolean;
}

/** For registries of the tests. */
export const REMOTE_TOKEN = "a-token-for-the-registry-that-nobody-shows";

export class RemoteChild implements AsyncDisposable {
  readonly #child: Deno.ChildProcess;
  readonly #log: ServerLog;

  constructor({ args, env = {}, prefix = [], hasInput = false }: RemoteChildOptions) {
    const command = serverCommand();
    const [program = "", ...words] = [...prefix, command.program, ...command.args, ...args];
    this.#child = new Deno.Command(program, {
      args: words,
      env: { EXEC_SERVER_REMOTE_TOKEN: REMOTE_TOKEN, ...env },
      stdin: hasInput ? "piped" : "null",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    this.#log = new ServerLog(this.#child.stderr);
  }

  get pid(): number {
    return this.#child.pid;
  }

  /** Resolves when this stands in its log, so many times. */
  logged(text: string, times = 1): Promise<void> {
    return this.#log.contains(text, times);
  }

  connected(times = 1): Promise<void> {
    return this.logged("connected to the rendezvous", times);
  }

  get input(): WritableStream<Uint8Array<ArrayBuffer>> {
    return this.#child.stdin;
  }

  kill(signal: Deno.Signal): void {
    this.#child.kill(signal);
  }

  /** How it ended, and all it said. */
  async ended(): Promise<{ code: number; stdout: string; stderr: string }> {
    const [stdout, { code }, stderr] = await Promise.all([
      new Response(this.#child.stdout).text(),
      this.#child.status,
      this.#log.whole,
    ]);
    return { code, stdout, stderr };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      this.#child.kill("SIGTERM");
    } catch {
      // Ended already, as some tests want it to.
    }
    if (!this.#child.stdout.locked) await this.#child.stdout.cancel();
    await this.#child.status;
    await this.#log.whole;
  }
}
