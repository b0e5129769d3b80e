/**
 * A server at the other end of a command's standard input and output, one message per line: `exec-server --listen stdio`,
 * or a command that leads to one, such as `ssh host …`. For Deno, Node and Bun.
 */

import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";
import type { Farewell, InboundMessage, Link, LinkEnd, OutboundMessage } from "../../rpc/link.ts";
import { StdioLink } from "../../transport/stdio_link.ts";
import { abortedBy, ConnectionRefusedError } from "../errors.ts";
import type { OpenOptions, Transport } from "./transport.ts";

/**
 * A command that leads to a server, and how it is run.
 *
 * ```ts
 * const address: CommandAddress = { command: ["ssh", "host", "exec-server", "--listen", "stdio"] };
 * await using far = await connect(address);
 * ```
 */
export interface CommandAddress {
  /** Its words: `["ssh", "host", "exec-server", "--listen", "stdio"]`. */
  readonly command: readonly string[];
  /** Where it runs. */
  readonly cwd?: string | undefined;
  /** Its environment, in place of this program's. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /**
   * Whether running it again leads to the same server, and so to the same session. False if the command itself is the
   * server: that server ends with its input.
   */
  readonly canReconnect?: boolean | undefined;
}

/** How long a command may go on after its input has ended. */
const END_LIMIT_MS = 5_000;

/** See the head of the module. */
export class CommandTransport implements Transport {
  readonly name: string;
  readonly canReconnect: boolean;
  readonly #address: CommandAddress;

  /** Runs the command once for each link. It shares this program's standard error. */
  constructor(address: CommandAddress) {
    if (address.command.length === 0) throw new TypeError("cannot connect by a command: it has no words");
    this.#address = address;
    this.name = address.command[0]!;
    this.canReconnect = address.canReconnect ?? false;
  }

  /** See {@linkcode Transport.open}. */
  open({ signal }: OpenOptions): Promise<Link> {
    const { command, cwd, env } = this.#address;
    const [program, ...args] = command;
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(abortedBy(signal, `cannot run ${this.name}`));
      const child = spawn(program!, args, { cwd, env, stdio: ["pipe", "pipe", "inherit"] });
      child.once("error", (error: Error) => {
        reject(new ConnectionRefusedError(`cannot connect by ${this.name}: ${error.message}`, { cause: error }));
      });
      child.once("spawn", () => {
        // The end of its output shows that it has ended.
        child.stdin.on("error", () => {});
        const readable = Readable.toWeb(child.stdout) as unknown as ReadableStream<Uint8Array>;
        const writable = Writable.toWeb(child.stdin) as unknown as WritableStream<Uint8Array>;
        resolve(new CommandLink(new StdioLink({ readable, writable }), () => endChild(child)));
      });
    });
  }
}

type Child = ReturnType<typeof spawn>;

/** Its input has ended, so it should end, too. */
function endChild(child: Child): void {
  child.stdin?.end();
  if (child.exitCode !== null || child.signalCode !== null) return;
  const timer = setTimeout(() => child.kill("SIGKILL"), END_LIMIT_MS);
  child.once("exit", () => clearTimeout(timer));
}

/** Ends the command with the link. */
class CommandLink implements Link {
  readonly #link: StdioLink;
  readonly #onClosed: () => void;

  constructor(link: StdioLink, onClosed: () => void) {
    this.#link = link;
    this.#onClosed = onClosed;
  }

  async receive(receiver: (message: InboundMessage) => void | Promise<void>): Promise<LinkEnd> {
    try {
      return await this.#link.receive(receiver);
    } finally {
      this.#onClosed();
    }
  }

  send(messages: readonly OutboundMessage[]): Promise<void> {
    return this.#link.send(messages);
  }

  probe(): void {
    // The session's heartbeat asks.
  }

  close(_farewell?: Farewell): void {
    this.#link.close();
    this.#onClosed();
  }
}
