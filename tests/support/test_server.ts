/**
 * A real server as a child process: the compiled binary named by `EXEC_SERVER_BINARY`, else the words of `deno
 * task serve`, with its permissions.
 */

import { checked } from "./answer_check.ts";
import type { Relay } from "./relay.ts";
import { Client, type ConnectOptions, openWebSocket } from "./rpc_client.ts";
import { withRuntimeCache } from "./runtime_cache.ts";

const ROOT = new URL("../..", import.meta.url).pathname;

/** In the log, for every connection; with its blank, because others are `disconnected`. */
const CONNECTED = " connected";

export interface TestServerOptions {
  args?: readonly string[];
  env?: Record<string, string>;
  /** Where it listens. Null: where it likes, because it is not told. */
  listen?: string | null;
  cwd?: string;
  /** Program and first words, in place of the server under test. */
  command?: readonly string[];
  /** Runs it with less permissions. Not for a compiled server, whose permissions are built in. */
  withoutPermissions?: readonly string[];
}

/** How the server under test is started. */
export function serverCommand(): { program: string; args: string[] } {
  const binary = Deno.env.get("EXEC_SERVER_BINARY");
  if (binary) return { program: binary, args: [] };
  const { tasks } = JSON.parse(Deno.readTextFileSync(`${ROOT}deno.json`));
  const [, ...words] = (tasks.serve as string).split(" ");
  return { program: Deno.execPath(), args: words.map((word) => word === "main.ts" ? `${ROOT}main.ts` : word) };
}

/** A denial outweighs the set of permissions, wherever among the runtime's words it stands. */
export function withoutPermissions(permissions: readonly string[], [run, ...words]: readonly string[]): string[] {
  return [run!, ...permissions.map((name) => `--deny-${name}`), ...words];
}

export type CheckedOptions = Partial<ConnectOptions> & { onChecked?: (method: string) => void };

/** A client of any server that also sees to it that the server answers as the method table says. */
export async function connectChecked(url: string, options: CheckedOptions = {}): Promise<Client> {
  const { onChecked, token, signal, ...rest } = options;
  const channel = await checked(await openWebSocket(url, { token, signal }), onChecked);
  return await Client.handshake(channel, { clientName: "test", ...rest });
}

export class TestServer implements AsyncDisposable {
  readonly url: string;
  readonly pid: number;
  readonly #child: Deno.ChildProcess;
  readonly #log: ServerLog;

  private constructor(child: Deno.ChildProcess, url: string, log: ServerLog) {
    this.#child = child;
    this.pid = child.pid;
    this.url = url;
    this.#log = log;
  }

  /** Starts a server and waits for the line that says where it listens. */
  static async start(options: TestServerOptions = {}): Promise<TestServer> {
    const { program, args } = options.command === undefined
      ? serverCommand()
      : { program: options.command[0]!, args: options.command.slice(1) };
    const child = new Deno.Command(program, {
      args: [
        ...(options.withoutPermissions === undefined ? args : withoutPermissions(options.withoutPermissions, args)),
        ...(options.listen === null ? [] : ["--listen", options.listen ?? "ws://127.0.0.1:0"]),
        ...options.args ?? [],
      ],
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
      ...(options.env === undefined ? {} : { env: withRuntimeCache(options.env) }),
      ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    }).spawn();
    const log = new ServerLog(child.stderr);
    const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    while (!text.includes("\n")) {
      const { done, value } = await reader.read();
      if (done) throw new Error(`server did not start: ${await log.whole}`);
      text += value;
    }
    reader.cancel();
    return new TestServer(child, text.trimEnd(), log);
  }

  get port(): number {
    return Number(new URL(this.url).port);
  }

  /** A client that also sees to it that the server answers as the method table says. */
  async connect(options: CheckedOptions = {}): Promise<Client> {
    return await connectChecked(this.url, options);
  }

  kill(signal: Deno.Signal): void {
    this.#child.kill(signal);
  }

  /** Its exit status, once it has ended. */
  get status(): Promise<Deno.CommandStatus> {
    return this.#child.status;
  }

  /** Everything it wrote to stderr, once it has ended. */
  get log(): Promise<string> {
    return this.#log.whole;
  }

  /** Resolves when this stands in its log, so many times. */
  async logged(text: string, times = 1): Promise<void> {
    await this.#log.contains(text, times);
  }

  /** Cuts what passes through the relay to this server, and waits until the log says once more who has come back. */
  async cut(relay: Relay, comesBack = CONNECTED): Promise<void> {
    const before = this.timesLogged(comesBack);
    relay.cut();
    await this.logged(comesBack, before + 1);
  }

  /** How often this stands in its log by now. */
  timesLogged(text: string): number {
    return this.#log.count(text);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      this.#child.kill("SIGTERM");
    } catch {
      // Ended already, as some tests want it to.
    }
    await this.#child.status;
    await this.#log.whole;
  }
}

/** Far longer than any line takes on a busy machine: without it a text that was changed is a test that never ends. */
const LOG_LIMIT_MS = 60_000;

/** What a server writes to standard error, as it comes. */
export class ServerLog {
  /** All of it, once the server has ended. */
  readonly whole: Promise<string>;
  #text = "";
  #wake = Promise.withResolvers<void>();

  constructor(stderr: ReadableStream<Uint8Array<ArrayBuffer>>) {
    this.whole = this.#readAll(stderr);
  }

  /** How often this stands in it by now. */
  count(text: string): number {
    return this.#text.split(text).length - 1;
  }

  /** Fails with the log as it is when the text has not come for a long time. */
  async contains(text: string, times: number): Promise<void> {
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(() => late.reject(new Error(`"${text}" is not in the log: ${this.#text}`)), LOG_LIMIT_MS);
    try {
      while (this.#text.split(text).length <= times) await Promise.race([this.#wake.promise, late.promise]);
    } finally {
      clearTimeout(timer);
    }
  }

  async #readAll(stderr: ReadableStream<Uint8Array<ArrayBuffer>>): Promise<string> {
    for await (const text of stderr.pipeThrough(new TextDecoderStream())) {
      this.#text += text;
      this.#wake.resolve();
      this.#wake = Promise.withResolvers();
    }
    this.#wake.reject(new Error(`the server has ended; its log: ${this.#text}`));
    // Nobody may be waiting.
    this.#wake.promise.catch(() => {});
    return this.#text;
  }
}

/** Runs the server's command line to its end. */
export async function runCli(args: readonly string[], env: Record<string, string> = {}): Promise<{
  code: number;
  stdout: string;
  stderr: string;
}> {
  const command = serverCommand();
  const output = await new Deno.Command(command.program, {
    args: [...command.args, ...args],
    env: withRuntimeCache(env),
    stdin: "null",
  }).output();
  const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  return { code: output.code, stdout: decode(output.stdout), stderr: decode(output.stderr) };
}
