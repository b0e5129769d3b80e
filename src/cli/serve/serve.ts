/** The `serve` command: starts the server by its options, and ends it on signals. */

import { messageOf } from "../../errors.ts";
import { whyNoTemporaryDirectory } from "../../launch/scratch_directory.ts";
import { createLogger } from "../../log.ts";
import { printable } from "../../printable.ts";
import { startServer } from "../../server/server.ts";
import { ListenError } from "../../transport/listen/listen_error.ts";
import { VERSION } from "../../version.ts";
import { refusal } from "../cli_error.ts";
import { onHangUp } from "../hang_up.ts";
import { versionText } from "../lone_word.ts";
import { surviveStrayErrors } from "../stray_errors.ts";
import { LiveAuth } from "./live_auth.ts";
import { LiveTls } from "./live_tls.ts";
import { LogSink } from "./log_sink.ts";
import { print } from "../print.ts";
import { parseServe, type ServeInvocation } from "./serve_options.ts";
import { serverSettings } from "./serving_values.ts";

/** Runs the server until it is told to stop. Resolves with the exit code. */
export async function serve(args: readonly string[]): Promise<number> {
  const invocation = await parseServe(args, { env: readEnvironment(), readTextFile: Deno.readTextFile });
  switch (invocation.type) {
    case "help":
      await print((await import("../help.ts")).helpText());
      return 0;
    case "version":
      await print(versionText());
      return 0;
    case "serve":
      return await run(invocation);
  }
}

/** Settings may be in it, including who is let in, so without it the server does not start. */
function readEnvironment(): Record<string, string> {
  try {
    return Deno.env.toObject();
  } catch (error) {
    throw refusal(`cannot read the environment: ${messageOf(error)}`, error);
  }
}

async function run({ options, reloadAuth }: ServeInvocation & { type: "serve" }): Promise<number> {
  const sink = new LogSink(Deno.stderr);
  const log = createLogger({ ...options.log, write: (line) => sink.write(line) });
  surviveStrayErrors(log);
  const noTemporaryDirectory = whyNoTemporaryDirectory();
  if (noTemporaryDirectory !== null) {
    log.warn("requests with a sandbox will be refused", { reason: noTemporaryDirectory });
  }
  const auth = new LiveAuth({ auth: options.auth, reload: reloadAuth ?? (() => Promise.resolve(options.auth)), log });

  const tls = options.tls === null ? null : await LiveTls.load(options.tls, log);
  const server = await startServer({
    listen: options.listen,
    authenticator: auth.authenticator,
    allowOtherUsers: options.allowOtherUsers,
    allowedOrigins: options.allowedOrigins,
    tls: tls?.layer ?? null,
    ...serverSettings(options),
    log,
  }).catch((error) => {
    if (!(error instanceof ListenError)) throw error;
    throw refusal(`cannot listen on ${printable(error.url)}: ${printable(error.reason)}`, error);
  });

  let signals = 0;
  const stop = () => {
    // The first signal asks for a clean end; the second one ends at once.
    server.shutDown(signals++ === 0 ? {} : { graceMs: 0 });
  };
  for (const signal of ["SIGINT", "SIGTERM"] as const) Deno.addSignalListener(signal, stop);
  // The only client of a server on stdio is its parent, so SIGHUP ends such a server like any program.
  if (options.listen.type !== "stdio") {
    const reloads = [reloadAuth === null ? null : () => auth.reload(), tls === null ? null : () => tls.reload()];
    onHangUp({ terminalLost: stop, reloads, log });
  }
  if (options.listen.type !== "stdio") {
    // The only place that shows the token; `server.url`, which is logged, does not contain it.
    const url = options.auth.type === "urlToken" ? options.auth.token.addTo(server.url) : server.url;
    const wasRead = await print(`${url}\n`).catch(async (error) => {
      await server.shutDown();
      throw error;
    });
    if (!wasRead) log.warn("cannot print the address: standard output is closed");
  }
  log.info("listening", { url: server.url, version: VERSION });
  await server.finished;
  await sink.drain();
  return 0;
}
