/** `exec-server --remote …`: registers, serves the clients of the rendezvous, and ends on signals. */

import { whyNoTemporaryDirectory } from "../../launch/scratch_directory.ts";
import { createLogger } from "../../log.ts";
import { openRemoteSource } from "../../server/remote_executor.ts";
import { serveLinks } from "../../server/server.ts";
import { helpText } from "../help.ts";
import { versionText } from "../lone_word.ts";
import { print } from "../print.ts";
import { LogSink } from "../serve/log_sink.ts";
import { serverSettings } from "../serve/serving_values.ts";
import { surviveStrayErrors } from "../stray_errors.ts";
import { VERSION } from "../../version.ts";
import { prepareRegistration, runToEnd } from "./registration.ts";
import { REMOTE_FLAGS, REMOTE_INTRODUCTION } from "./remote_flags.ts";
import { parseRemote, type RemoteInvocation } from "./remote_options.ts";

/** Resolves with the exit code. */
export async function remote(args: readonly string[]): Promise<number> {
  const env = Deno.env.toObject();
  const invocation = parseRemote(args, env);
  switch (invocation.type) {
    case "help":
      await print(helpText(REMOTE_FLAGS, REMOTE_INTRODUCTION));
      return 0;
    case "version":
      await print(versionText());
      return 0;
    case "remote":
      return await run(invocation, env);
  }
}

async function run(
  { registration, serving }: RemoteInvocation & { type: "remote" },
  env: Record<string, string>,
): Promise<number> {
  const sink = new LogSink(Deno.stderr);
  const log = createLogger({ ...serving.log, write: (line) => sink.write(line) });
  surviveStrayErrors(log);
  return await runToEnd({ sink, log }, async () => {
    const noTemporaryDirectory = whyNoTemporaryDirectory();
    if (noTemporaryDirectory !== null) {
      log.warn("requests with a sandbox will be refused", { reason: noTemporaryDirectory });
    }
    const { config, credential, pipe } = await prepareRegistration(registration, env);
    const source = await openRemoteSource({ ...config, pingIntervalMs: serving.pingIntervalMs, log }, credential, env);
    const server = serveLinks(source, { ...serverSettings(serving), log });
    log.info("registering", { url: server.url, version: VERSION });
    return { source, pipe, finished: server.finished, shutDown: (options) => void server.shutDown(options) };
  });
}
