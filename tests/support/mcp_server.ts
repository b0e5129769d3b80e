/** A real `exec-server mcp` over its standard streams, and the client at the other end of them. */

import { type McpMessage, McpPeer } from "./mcp_peer.ts";
import { serverCommand } from "./test_server.ts";

export interface McpServerOptions {
  /** Another server of the same kind; ours otherwise. */
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly env?: Record<string, string>;
  readonly cwd?: string;
}

export class McpServer implements AsyncDisposable {
  readonly peer: McpPeer;
  readonly pid: number;
  readonly #child: Deno.ChildProcess;
  readonly #log: Promise<string>;
  readonly #writer: WritableStreamDefaultWriter<Uint8Array>;
  readonly #reading: Promise<void>;

  constructor({ command = ownCommand(), args = [], env = {}, cwd }: McpServerOptions = {}) {
    const [program, ...words] = command;
    this.#child = new Deno.Command(program!, {
      args: [...words, ...args],
      env,
      ...(cwd === undefined ? {} : { cwd }),
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    this.pid = this.#child.pid;
    this.#writer = this.#child.stdin.getWriter();
    const encoder = new TextEncoder();
    this.peer = new McpPeer((message) => {
      this.#writer.write(encoder.encode(`${JSON.stringify(message)}\n`)).catch(() => {});
    });
    this.#log = new Response(this.#child.stderr).text();
    this.#reading = this.#read();
  }

  /** Its exit status, once it has ended. */
  get status(): Promise<Deno.CommandStatus> {
    return this.#child.status;
  }

  /** All of standard error, once it has ended. */
  get log(): Promise<string> {
    return this.#log;
  }

  kill(signal: Deno.Signal): void {
    this.#child.kill(signal);
  }

  /** Says nothing more, as a client that goes. */
  async closeInput(): Promise<void> {
    await this.#writer.close().catch(() => {});
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.closeInput();
    await this.#child.status;
    await Promise.all([this.#log, this.#reading]);
  }

  async #read(): Promise<void> {
    let text = "";
    for await (const chunk of this.#child.stdout.pipeThrough(new TextDecoderStream())) {
      text += chunk;
      for (let end; (end = text.indexOf("\n")) >= 0; text = text.slice(end + 1)) {
        this.peer.receive(JSON.parse(text.slice(0, end)) as McpMessage);
      }
    }
  }
}

function ownCommand(): string[] {
  const { program, args } = serverCommand();
  return [program, ...args, "mcp"];
}
