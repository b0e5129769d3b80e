/**
 * Writes what a command and its server say to each other to a file, as it happens: for people who write a client of their
 * own, and for those who look for the cause of a failure. `--trace-file` names the file.
 *
 * A line is one message: `PID.N > MESSAGE` from the command, `PID.N < MESSAGE` from the server. N counts the connections
 * of the process, so that commands which run at the same time can share a file. Tokens are not in it, because they are no
 * part of a message; the content of files and the variables of processes are. So a new file is its user's alone.
 *
 * A trace that cannot be written any more ends with a line on standard error. The command goes on.
 */

import type { OpenOptions, Transport, TransportLink } from "../../../client/link/transport.ts";
import { messageOf } from "../../../errors.ts";
import { quoted, refusal } from "../../cli_error.ts";
import type { WhereWords } from "./resolve_place.ts";

const PRIVATE = 0o600;

/** The transport, with its messages written down if the words of the command ask for it. Throws a refusal. */
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

  /** At once, so that nothing is missing when the command ends; as one piece, so that no other command writes into it. */
  #write(head: string, message: string): void {
    if (this.#file === null) return;
    // Between the words of a message a line break means no more than a blank, and there is none inside a word.
    const line = new TextEncoder().encode(`${head} ${message.replaceAll(/[\r\n]/g, " ")}\n`);
    try {
      for (let rest = line; rest.length > 0;) rest = rest.subarray(this.#file.writeSync(rest));
    } catch (error) {
      this.#file = null;
      console.error(`exec-server: cannot go on writing the trace: ${messageOf(error)}`);
    }
  }
}
