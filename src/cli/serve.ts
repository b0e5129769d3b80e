/** The `serve` command: options to a running server, signals to its end. */

import { createLogger, errorFields, type Logger } from "../log.ts";
import { createAuthenticator } from "../transport/auth.ts";
import { startServer } from "../server/server.ts";
import { VERSION } from "../version.ts";
import { refusal } from "./cli_error.ts";
import { helpText } from "./help.ts";
import { LogSink } from "./log_sink.ts";
import { parseServe, type ServeOptions } from "./serve_options.ts";

/** Runs the server until it is told to stop. Resolves with the exit code. */
export async function serve(args: readonly string[]): Promise<number> {
  const invocation = await parseServe(args, { env: Deno.env.toObject(), readTextFile: Deno.readTextFile });
  switch (invocation.type) {
    case "help":
      await Deno.stdout.write(new TextEncoder().encode(helpText()));
      return 0;
    case "version":
      console.log(`exec-server ${VERSION}`);
      return 0;
    case "serve":
      return await run(invocation.options);
  }
}

async function run(options: ServeOptions): Promise<number> {
  const sink = new LogSink(Deno.stderr);
  const log = createLogger({ ...options.log, write: (line) => sink.write(line) });
  surviveStrayErrors(log);

  const server = await startServer({
    listen: options.listen,
    authenticator: createAuthenticator(options.auth),
    concurrentRequests: options.concurrentRequests,
    pingIntervalMs: options.pingIntervalMs,
    detachedSessionTtlMs: options.detachedSessionTtlMs,
    processes: {
      shutdownGracePeriodMs: options.shutdownGracePeriodMs,
      maxProcesses: options.maxProcessesPerConnection,
      retainedOutputBytes: options.retainedOutputBytesPerProcess,
      allowDirect: options.allowDirectExec,
      allowPrepared: options.allowPreparedExec,
      keepOnSessionEnd: options.keepProcessesOnSessionEnd,
    },
    sandbox: options.sandbox,
    log,
  }).catch((error) => {
    throw refusal(`cannot listen: ${error instanceof Error ? error.message : error}`, error);
  });

  let signals = 0;
  const stop = () => {
    // The first signal asks politely; the second one means it.
    server.shutDown(signals++ === 0 ? {} : { graceMs: 0 });
  };
  for (const signal of ["SIGINT", "SIGTERM"] as const) Deno.addSignalListener(signal, stop);
  if (options.listen.type !== "stdio") await Deno.stdout.write(new TextEncoder().encode(server.url + "\n"));
  log.info("listening", { url: server.url, version: VERSION });
  await server.finished;
  await sink.drain();
  return 0;
}

/** A fault in one request must not end the others: whatever nobody caught is logged whole, and the server goes on. */
function surviveStrayErrors(log: Logger): void {
  globalThis.addEventListener("unhandledrejection", (event) => {
    event.preventDefault();
    log.error("unhandled rejection", errorFields(event.reason));
  });
  globalThis.addEventListener("error", (event) => {
    event.preventDefault();
    log.error("uncaught error", errorFields(event.error));
  });
}
