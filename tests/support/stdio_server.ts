/** A real server that speaks over its standard input and output, and the client at the other end of them. */

import { checked } from "./answer_check.ts";
import { type Channel, Client } from "./rpc_client.ts";
import { serverCommand, type TestServerOptions, withoutPermissions } from "./test_server.ts";

export class StdioServer implements AsyncDisposable {
  readonly client: Client;
  readonly pid: number;
  readonly #child: Deno.ChildProcess;

  private constructor(child: Deno.ChildProcess, client: Client) {
    this.#child = child;
    this.pid = child.pid;
    this.client = client;
  }

  static async start(
    args: readonly string[] = [],
    options: Pick<TestServerOptions, "withoutPermissions"> = {},
  ): Promise<StdioServer> {
    const command = serverCommand();
    const words = options.withoutPermissions === undefined
      ? command.args
      : withoutPermissions(options.withoutPermissions, command.args);
    const child = new Deno.Command(command.program, {
      args: [...words, "--listen", "stdio", "--log-level", "error", ...args],
      stdin: "piped",
      stdout: "piped",
      stderr: "inherit",
    }).spawn();
    return new StdioServer(child, await Client.handshake(await checked(lineChannel(child)), { clientName: "test" }));
  }

  /** Its exit status, once it has ended. */
  get status(): Promise<Deno.CommandStatus> {
    return this.#child.status;
  }

  /** Ends the server's input, which is what a client does that has no more to say. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.client.close();
    await this.#child.status;
  }
}

function lineChannel(child: Deno.ChildProcess): Channel {
  const writer = child.stdin.getWriter();
  const encoder = new TextEncoder();
  const channel: Channel = {
    onMessage: () => {},
    onClose: () => {},
    // A server that has ended takes no more; that is reported by the receiving side.
    send: (text) => void writer.write(encoder.encode(`${text}\n`)).catch(() => {}),
    close: () => void writer.close().catch(() => {}),
  };
  receiveLines(child.stdout, (line) => channel.onMessage(line)).then(() =>
    channel.onClose("the server's output ended")
  );
  return channel;
}

async function receiveLines(stream: ReadableStream<Uint8Array<ArrayBuffer>>, take: (line: string) => void) {
  let rest = "";
  for await (const text of stream.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split("\n");
    rest = lines.pop()!;
    lines.forEach(take);
  }
}
