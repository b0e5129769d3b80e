/**
 * Writes the messages between a command and its server to the file of `--trace-file`, as they happen: for people who
 * write their own client, and for those who look for the cause of a failure.
 *
 * A line is one message: `PID.N > MESSAGE` from the command, `PID.N < MESSAGE` from the server. N counts the
 * connections of the process, so that commands which run at the same time can share a file. It contains no tokens,
 * because messages have none, but the content of files and the variables of processes. So only its owner can read a new
 * file.
 *
 * If the trace cannot be written any more, a line on standard error says so. The command goes on.
 */

import type { OpenOptions, Transport, TransportLink } from "../../../client/link/transport.ts";
import { messageOf } from "../../../errors.ts";
import { quoted, refusal } from "../../cli_error.ts";
import type { WhereWords } from "./resolve_place.ts";

const PRIVATE = 0o600;

/** The transport, which writes its messages down if the command's words ask for it. Throws an error if it cannot. */
export function traced(transport: Transport, { values, givenAs }: Omit<WhereWords, "place">): Transport {
  const path = values["trace-file"];
  return path === null ? transport : new TracedTransport(transport, openTrace(path, givenAs["trace-file"]!));
}

function openTrace(path: string, writtenAs: string): Deno.FsFile {
  try {
    return Deno.openSync(path, { append: true, create: true, mode: PRIVATE });
  } catch (error) {
    const reason = messageOf(error);
    throw refusal(`cannot write ${writtenAs} ${quoted(path)}: ${reason}`, error);
  }
}

/** See the head of the module. */
export class TracedTransport implements Transport {
  readonly name: string;
  readonly canReconnect: boolean;
  readonly #transport: Transport;
  /** Null: it could not be written any more. */
  #file: Deno.FsFile | null;
  #connections = 0;

  constructor(transport: Transport, file: Deno.FsFile) {
    this.name = transport.name;
    this.canReconnect = transport.canReconnect;
    this.#transport = transport;
    this.#file = file;
  }

  /** See {@linkcode Transport.open}. */
  async open(options: OpenOptions): Promise<TransportLink> {
    const link = await this.#transport.open(options);
    const connection = `${Deno.pid}.${++this.#connections}`;
    return {
      receive: (receiver) =>
        link.receive((message) => {
          this.#write(`${connection} <`, message ?? "(no text)");
          return receiver(message);
        }),
      send: (messages) => {
        for (const message of messages) this.#write(`${connection} >`, message);
        return link.send(messages);
      },
      close: (farewell) => link.close(farewell),
    };
  }

  /**
   * Synchronous, so that nothing is missing when the command ends. One write, so that lines of several commands do not
   * mix.
   */
  #write(head: string, message: string): void {
    if (this.#file === null) return;
    // In JSON a line break is the same as a blank, because texts contain none.
    const line = new TextEncoder().encode(`${head} ${message.replaceAll(/[\r\n]/g, " ")}\n`);
    try {
      for (let rest = line; rest.length > 0;) rest = rest.subarray(this.#file.writeSync(rest));
    } catch (error) {
      this.#file = null;
      console.error(`exec-server: cannot go on writing the trace: ${messageOf(error)}`);
    }
  }
}
