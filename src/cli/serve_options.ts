/**
 * argv and environment -> what `serve` is to do, checked as a whole.
 *
 * Pure but for the secrets' files, which are read through the function passed in. When this returns options, nothing
 * in them contradicts anything else; when it throws a `CliError`, nothing has been started.
 */

import type { LogFormat, LogLevel } from "../log.ts";
import type { SandboxSetting } from "../launch/sandbox_probe.ts";
import type { AuthConfig } from "../transport/auth.ts";
import { isLoopbackAddress } from "../transport/ip_address.ts";
import { loadAuth, type ReadTextFile } from "./auth_options.ts";
import { quoted, refusal, usageError } from "./cli_error.ts";
import { type Environment, parseFlags } from "./flags.ts";
import { type ListenAddress, parseListenUrl } from "./listen_url.ts";
import { SERVE_FLAGS } from "./serve_flags.ts";

export interface ServeOptions {
  readonly listen: ListenAddress;
  readonly auth: AuthConfig;
  /** Null: results as if in arrival order, with waits and control requests overtaking. */
  readonly concurrentRequests: number | null;
  readonly pingIntervalMs: number;
  /** Null: unlimited. */
  readonly maxProcessesPerConnection: number | null;
  readonly retainedOutputBytesPerProcess: number;
  readonly allowDirectExec: boolean;
  readonly allowPreparedExec: boolean;
  readonly sandbox: SandboxSetting;
  readonly shutdownGracePeriodMs: number;
  readonly detachedSessionTtlMs: number;
  readonly keepProcessesOnSessionEnd: boolean;
  readonly log: { readonly format: LogFormat; readonly level: LogLevel };
}

/** What the words after `serve` ask for. */
export type ServeInvocation =
  | { readonly type: "serve"; readonly options: ServeOptions }
  | { readonly type: "help" }
  | { readonly type: "version" };

export interface ServeSurroundings {
  readonly env: Environment;
  readonly readTextFile: ReadTextFile;
}

/** Reads the arguments of `serve` (without the command itself). */
export async function parseServe(argv: readonly string[], surroundings: ServeSurroundings): Promise<ServeInvocation> {
  const parsed = parseFlags(SERVE_FLAGS, argv, surroundings.env);
  if (parsed.type === "action") return { type: parsed.action };
  const { values, givenAs, positionals } = parsed;
  if (positionals[0] !== undefined) throw usageError(`unexpected argument ${quoted(positionals[0])}: see --help`);

  const listen = parseListenUrl(values.listen, givenAs.listen ?? "--listen");
  const auth = await loadAuth(values, givenAs, surroundings.readTextFile);
  refuseOpenListener(listen, auth, values["insecure-no-auth"]);
  return {
    type: "serve",
    options: {
      listen,
      auth,
      concurrentRequests: values["concurrent-requests"],
      pingIntervalMs: values["ping-interval-ms"],
      maxProcessesPerConnection: values["max-processes-per-connection"],
      retainedOutputBytesPerProcess: values["retained-output-bytes-per-process"],
      allowDirectExec: values["allow-direct-exec"],
      allowPreparedExec: values["allow-prepared-exec"],
      sandbox: values.sandbox,
      shutdownGracePeriodMs: values["shutdown-grace-period-ms"],
      detachedSessionTtlMs: values["detached-session-ttl-ms"],
      keepProcessesOnSessionEnd: values["keep-processes-on-session-end"],
      log: { format: values.log, level: values["log-level"] },
    },
  };
}

/** An open port beyond this machine is a remote shell for everybody, so it takes a flag that says so. */
function refuseOpenListener(listen: ListenAddress, auth: AuthConfig, isInsecureAccepted: boolean): void {
  if (listen.type !== "tcp" || auth.type !== "none" || isInsecureAccepted) return;
  if (isLoopbackAddress(listen.hostname)) return;
  throw refusal(
    `refusing to listen on ${listen.hostname} without authentication: whoever can reach it could run commands; ` +
      `add --ws-auth, listen on 127.0.0.1, or accept the risk with --insecure-no-auth`,
  );
}
