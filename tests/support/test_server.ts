/**
 * A real server as a child process: the compiled binary named by `EXEC_SERVER_BINARY`, else `deno run main.ts` with the
 * permissions of `deno task serve`.
 */

import { connect, type ConnectOptions } from "../../src/client/mod.ts";
import type { Client } from "../../src/client/mod.ts";

const ROOT = new URL("../..", import.meta.url).pathname;

export interface TestServerOptions {
  args?: readonly string[];
  env?: Record<string, string>;
  /** Where it listens. */
  listen?: string;
  cwd?: string;
  /** Runs it with one permission less. Not for a compiled server, whose permissions are built in. */
  withoutPermission?: string;
}

/** How the server under test is started. */
export function serverCommand(): { program: string; args: string[] } {
  const binary = Deno.env.get("EXEC_SERVER_BINARY");
  if (binary) return { program: binary, args: [] };
  const { tasks } = JSON.parse(Deno.readTextFileSync(`${ROOT}deno.json`));
  const [, ...words] = (tasks.serve as string).split(" ");
  return { program: Deno.execPath(), args: words.map((word) => word === "main.ts" ? `${ROOT}main.ts` : word) };
}

export class TestServer implements AsyncDisposable {
  readonly url: string;
  readonly pid: number;
  readonly #child: Deno.ChildProcess;
  readonly #log: Promise<string>;

  private constructor(child: Deno.ChildProcess, url: string, log: Promise<string>) {
    this.#child = child;
    this.pid = child.pid;
    this.url = url;
    this.#log = log;
  }

  /** Starts a server and waits for the line that says where it listens. */
  static async start(options: TestServerOptions = {}): Promise<TestServer> {
    const { program, args } = serverCommand();
    const child = new Deno.Command(program, {
      args: [
        ...args.filter((word) => word !== `--allow-${options.withoutPermission}`),
        "--listen",
        options.listen ?? "ws://127.0.0.1:0",
        ...options.args ?? [],
      ],
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
      ...(options.env === undefined ? {} : { env: options.env }),
      ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    }).spawn();
    const log = new Response(child.stderr).text();
    const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    while (!text.includes("\n")) {
      const { done, value } = await reader.read();
      if (done) throw new Error(`server did not start: ${await log}`);
      text += value;
    }
    reader.cancel();
    return new TestServer(child, text.trimEnd(), log);
  }

  get port(): number {
    return Number(new URL(this.url).port);
  }

  async connect(options: Partial<ConnectOptions> = {}): Promise<Client> {
    return await connect(this.url, { clientName: "test", ...options });
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
    return this.#log;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      this.#child.kill("SIGTERM");
    } catch {
      // Ended already, as some tests want it to.
    }
    await this.#child.status;
    await this.#log;
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
    env,
    stdin: "null",
  }).output();
  const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  return { code: output.code, stdout: decode(output.stdout), stderr: decode(output.stderr) };
}
