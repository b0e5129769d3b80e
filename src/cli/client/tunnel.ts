/** The `tunnel` command: ports of this machine that lead to ports of a box. */

import type { Devbox } from "../../client/devbox.ts";
import { messageOf } from "../../errors.ts";
import { printable } from "../../printable.ts";
import { quoted, refusal, usageError } from "../cli_error.ts";
import { print } from "../print.ts";
import type { FlagTable } from "../flags.ts";
import { runClientCommand } from "./client_command.ts";
import { EXIT } from "./exit_codes.ts";
import { openBox } from "./open_box.ts";
import { JSON_FLAG } from "./output_flags.ts";
import { HELP_FLAG, WHERE_FLAGS } from "./places/place.ts";
import { carry } from "./tunnel_carry.ts";

const INTRODUCTION = `Usage: exec-server tunnel [@NAME] [LOCAL:]REMOTE...

Listens on ports of 127.0.0.1 here and forwards every connection to a port of
the box, until you end it (Ctrl-C). Without LOCAL both ports have the same
number; 0 is any free port. Prints a line for each port once it listens.

  exec-server tunnel @devbox 8080
  exec-server tunnel @devbox 3000:8080 5433:5432`;

const LOOPBACK = "127.0.0.1";

export const TUNNEL_FLAGS = {
  host: {
    section: "Destination",
    kind: "text",
    placeholder: "ADDRESS",
    default: null,
    hasVariable: false,
    whenAbsent: "localhost",
    help: "The loopback address of the box to connect to.",
  },
  json: { ...JSON_FLAG, help: "Print one JSON object for each port." },
  ...WHERE_FLAGS,
  help: HELP_FLAG,
} as const satisfies FlagTable;

export interface TunnelPorts {
  readonly local: number;
  readonly remote: number;
}

/** `[LOCAL:]REMOTE`. */
export function tunnelPorts(word: string): TunnelPorts {
  const parts = /^(?:(\d{1,5}):)?(\d{1,5})$/.exec(word);
  const [local, remote] = [Number(parts?.[1] ?? parts?.[2]), Number(parts?.[2])];
  if (parts === null || local > 0xffff || remote > 0xffff || remote === 0) {
    throw usageError(`${quoted(word)} is not a port or pair of ports: write REMOTE or LOCAL:REMOTE, such as 3000:8080`);
  }
  return { local, remote };
}

/** Resolves with the exit code. */
export function tunnel(args: readonly string[]): Promise<number> {
  return runClientCommand(args, {
    flags: TUNNEL_FLAGS,
    introduction: INTRODUCTION,
    async run({ positionals: words, ...where }) {
      if (words.length === 0) throw usageError("the port is missing: write REMOTE or LOCAL:REMOTE");
      const pairs = words.map(tunnelPorts);
      const ended = Promise.withResolvers<number>();
      const { box } = await openBox(where, {
        onConnectionChange: (state) => {
          if (state.state === "reconnecting" && state.attempt === 1) {
            console.error(`exec-server: the connection is lost (${printable(state.reason)}); trying again`);
          } else if (state.state === "closed" && state.error !== null) {
            console.error(`exec-server: ${printable(state.error.message)}`);
            ended.resolve(EXIT.noConnection);
          }
        },
      });
      await using _closing = box;
      if (!box.has("netConnect")) throw refusal("cannot open a tunnel: the server must be started with --allow-tunnel");
      const listeners = pairs.map((pair) => listen(pair));
      for (const [index, listener] of listeners.entries()) {
        const { remote } = pairs[index]!;
        const { port } = listener.addr as Deno.NetAddr;
        const shown = { local: `${LOOPBACK}:${port}`, remote };
        await print(where.values.json ? `${JSON.stringify(shown)}\n` : `${shown.local} -> ${remote}\n`);
        serve(box, listener, { port: remote, host: where.values.host ?? undefined });
      }
      const stop = () => ended.resolve(EXIT.ok);
      Deno.addSignalListener("SIGINT", stop);
      Deno.addSignalListener("SIGTERM", stop);
      const exitCode = await ended.promise;
      for (const listener of listeners) listener.close();
      return exitCode;
    },
  });
}

function listen({ local }: TunnelPorts): Deno.TcpListener {
  try {
    return Deno.listen({ hostname: LOOPBACK, port: local });
  } catch (error) {
    const reason = error instanceof Deno.errors.AddrInUse
      ? "it is in use; give another as LOCAL:REMOTE"
      : String(error);
    throw refusal(`cannot listen on port ${local} here: ${reason}`, error);
  }
}

/** Accepts until the listener is closed. The failure of a connection is reported, and the others go on. */
async function serve(
  box: Devbox,
  listener: Deno.TcpListener,
  target: { port: number; host: string | undefined },
): Promise<void> {
  try {
    for await (const near of listener) {
      carry(near, () => box.tunnel(target.port, { host: target.host })).catch((error) => {
        console.error(`exec-server: port ${target.port}: ${printable(messageOf(error))}`);
      });
    }
  } catch {
    // It was closed.
  }
}
