/** `exec-server forward`: offers another server, which listens within reach, to the clients of a rendezvous. */

import { systemClock } from "../../clock.ts";
import { createLogger } from "../../log.ts";
import { configurationFailure } from "../../remote/registry/registry_error.ts";
import { openRemoteSource } from "../../server/remote_executor.ts";
import { VERSION } from "../../version.ts";
import { refuseSurplus, usageError } from "../cli_error.ts";
import { type FlagTable, parseFlags } from "../flags.ts";
import { helpText } from "../help.ts";
import { print } from "../print.ts";
import { LogSink } from "../serve/log_sink.ts";
import { SERVING_FLAGS } from "../serve/serving_values.ts";
import { surviveStrayErrors } from "../stray_errors.ts";
import { prepareRegistration, runToEnd } from "./registration.ts";
import { REGISTRATION_FLAGS } from "./remote_flags.ts";
import { registrationOptions } from "./remote_options.ts";

export const FORWARD_FLAGS = {
  connect: {
    section: "Remote",
    kind: "text",
    placeholder: "URL",
    default: null,
    hasVariable: false,
    help: "The server to forward to: ws://, wss:// or unix:/PATH. Path and query are kept, no header is added.",
  },
  ...REGISTRATION_FLAGS,
  "ping-interval-ms": SERVING_FLAGS["ping-interval-ms"],
  log: SERVING_FLAGS.log,
  "log-level": SERVING_FLAGS["log-level"],
  help: SERVING_FLAGS.help,
} as const satisfies FlagTable;

const FORWARD_INTRODUCTION = `Usage: exec-server forward --connect URL --remote URL --environment-id ID [flags]

Registers in the noise form and passes each client on to another server, over
a connection of its own. It does not look into messages. The server may be any
that speaks JSON-RPC over websockets.

Example: exec-server forward --connect ws://127.0.0.1:9000
             --remote https://hub.example --environment-id devbox-7
         exec-server forward --connect unix:/run/exec-server.sock
             --remote https://hub.example --environment-id devbox-7`;

/** Resolves with the exit code. */
export async function forward(args: readonly string[]): Promise<number> {
  const env = Deno.env.toObject();
  const parsed = parseFlags(FORWARD_FLAGS, args, env);
  if (parsed.type === "action") {
    await print(helpText(FORWARD_FLAGS, FORWARD_INTRODUCTION));
    return 0;
  }
  const { values, givenAs, positionals } = parsed;
  refuseSurplus(positionals[0]);
  const { connect: destination, "environment-id": id } = values;
  if (destination === null) throw usageError("--connect URL is required");
  if (id === null) throw usageError("--environment-id ID is required");
  const registration = registrationOptions({ values, givenAs, id, transport: "noise", env });

  const sink = new LogSink(Deno.stderr);
  const log = createLogger({ format: values.log, level: values["log-level"], write: (line) => sink.write(line) });
  surviveStrayErrors(log);
  return await runToEnd({ sink, log }, async () => {
    // The reference's words, and its status.
    if (!/^(?:wss?:\/\/|unix:\/)/.test(destination)) {
      throw configurationFailure("forward destination must be a ws:// or wss:// URL");
    }
    const { config, credential, pipe } = await prepareRegistration(registration, env);
    const pingIntervalMs = values["ping-interval-ms"];
    const source = await openRemoteSource({ ...config, pingIntervalMs, log }, credential, env);
    const { Forwarder } = await import("../../remote/forward/forwarder.ts");
    const forwarder = new Forwarder({ destination, env, clock: systemClock, log, pingIntervalMs });
    source.observeSessions(() => forwarder.open);
    log.info("registering", { url: source.url, version: VERSION });
    const finished = source.run((link, peer) => forwarder.serve(link, peer)).finally(() => source.dropAll());
    const shutDown = () => {
      source.close();
      source.dropAll();
    };
    return { source, pipe, finished, shutDown };
  });
}
