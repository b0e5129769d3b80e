/**
 * The `dial` command: connects standard input and output, with one message per line, to any server that this program
 * can reach. `ssh://` runs it on the other side. With it, a client that can start a command can use any place.
 *
 * Messages pass unchanged, and each side waits for the other. The session belongs to the client at standard input. This
 * command ends with its connection, but the server keeps the session as usual.
 */

import type { TransportLink } from "../../client/link/transport.ts";
import { printable } from "../../printable.ts";
import { StdioLink } from "../../transport/stdio_link.ts";
import { refuseSurplus, usageError } from "../cli_error.ts";
import type { FlagTable } from "../flags.ts";
import { runClientCommand } from "./client_command.ts";
import { EXIT } from "./exit_codes.ts";
import { HELP_FLAG, WHERE_FLAGS } from "./places/place.ts";
import { ANNOUNCEMENT } from "./places/announcement.ts";
import { resolvePlace } from "./places/resolve_place.ts";
import { traced } from "./places/traced_transport.ts";
import { transportOf } from "./places/transport_of.ts";

const INTRODUCTION = `Usage: exec-server dial [@NAME|URL] [flags]

Connects standard input and output to a server, one JSON message per line.
Without a place it connects to your own server on this machine, and starts it
if necessary.

  exec-server dial ssh://devbox        what a codex environment runs to use devbox
  ssh devbox exec-server dial          what ssh:// does itself`;

const FLAGS = {
  ...WHERE_FLAGS,
  announce: {
    section: "Other",
    kind: "switch",
    default: false,
    hasVariable: false,
    help: "Print a line with the version once connected, for ssh://.",
  },
  help: HELP_FLAG,
} as const satisfies FlagTable;

/** Long, because an attempt over ssh may have to start a server. */
const CONNECT_LIMIT_MS = 60_000;
/** How long answers may take after the input has ended. Then requests that still wait are given up. */
const ANSWER_LIMIT_MS = 10_000;
const HEAD_CHARS = 1024;

/** Resolves with the exit code. */
export function dial(args: readonly string[]): Promise<number> {
  return runClientCommand(args, {
    flags: FLAGS,
    introduction: INTRODUCTION,
    async run({ values, givenAs, positionals, place: name }) {
      const [url, extra] = positionals;
      refuseSurplus(extra);
      if (url !== undefined && (name !== null || givenAs.url === "--url")) {
        throw usageError("a URL, @NAME and --url all name the server: give one of them");
      }
      const env = Deno.env.toObject();
      const where = url === undefined
        ? { values, givenAs, place: name }
        : { values: { ...values, url }, givenAs: { ...givenAs, url: "URL" }, place: null };
      const { place, token } = await resolvePlace(where, env);
      const transport = traced(await transportOf(place, env), where);
      const far = await transport.open({ token, signal: AbortSignal.timeout(CONNECT_LIMIT_MS) });
      const near = new StdioLink({ readable: Deno.stdin.readable, writable: Deno.stdout.writable });
      if (values.announce) await near.send([ANNOUNCEMENT.trimEnd()]);
      return await splice(near, far);
    },
  });
}

/** Runs until either side ends. Requests from before the end of input are answered first. */
async function splice(near: TransportLink, far: TransportLink): Promise<number> {
  const open = new Set<string>();
  let whenAnswered = () => {};
  const toFar = near.receive(async (message) => {
    if (message === null) throw new TypeError("standard input is not UTF-8");
    const id = requestId(message);
    if (id !== null) open.add(id);
    await far.send([message]);
  });
  const toNear = far.receive(async (message) => {
    if (message === null) return;
    await near.send([message]);
    const id = answerId(message);
    if (id !== null && open.delete(id) && open.size === 0) whenAnswered();
  });
  const first = await Promise.race([
    toFar.then((end) => ({ side: "near" as const, end })),
    toNear.then((end) => ({ side: "far" as const, end })),
  ]);
  if (first.side === "near" && first.end.type === "peerClosed" && open.size > 0) {
    const answered = new Promise<void>((resolve) => whenAnswered = resolve);
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<void>((resolve) => timer = setTimeout(resolve, ANSWER_LIMIT_MS));
    await Promise.race([answered, toNear, late]);
    clearTimeout(timer);
  }
  near.close();
  far.close({ cause: "done", reason: "" });
  await toNear;
  const { side, end } = first;
  if (side === "near" && end.type !== "violation" && end.type !== "failed") return EXIT.ok;
  const reason = "reason" in end ? end.reason : "the server closed the connection";
  console.error(`exec-server: the connection has ended: ${printable(reason)}`);
  return EXIT.noConnection;
}

/** The id of a request. Only the beginning of a long message is searched: clients write ids first. */
function requestId(message: string): string | null {
  return /"method"\s*:/.test(message.slice(0, HEAD_CHARS)) ? answerId(message) : null;
}

function answerId(message: string): string | null {
  return /^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*("(?:[^"\\]|\\.)*"|-?\d+)/.exec(message)?.[1] ?? null;
}

/** For completions. */
export { FLAGS as DIAL_FLAGS };
