/** The flags of `serve` that do not depend on how clients connect. `--remote` has them, too. */

import type { SandboxSetting } from "../../launch/backends/sandbox_probe.ts";
import type { LogFormat, LogLevel } from "../../log.ts";
import type { ServerOptions } from "../../server/server.ts";
import type { FlagValues } from "../flags.ts";
import { durationMs } from "../duration.ts";
import { ownRuntimePaths } from "../own_program.ts";
import { DOOR_FLAGS, type DoorFlags } from "./door_flags.ts";
import { SERVE_FLAGS } from "./serve_flags.ts";

export type ServingFlags = Omit<typeof SERVE_FLAGS, keyof DoorFlags>;

export const SERVING_FLAGS = Object.fromEntries(
  Object.entries(SERVE_FLAGS).filter(([name]) => !Object.hasOwn(DOOR_FLAGS, name)),
) as ServingFlags;

/** The values of these flags, with the program's own names. */
export interface ServingValues {
  /** Null: results as if in arrival order, with waits and control requests overtaking. */
  readonly concurrentRequests: number | null;
  readonly pingIntervalMs: number;
  /** Null: unlimited. */
  readonly maxProcessesPerConnection: number | null;
  readonly retainedOutputBytesPerProcess: number;
  readonly closedProcessRetentionMs: number;
  readonly maxClosedProcesses: number;
  readonly maxClosedProcessBytes: number;
  readonly acknowledgedOutputBytes: number;
  readonly detachedOutputBytes: number;
  readonly allowDirectExec: boolean;
  readonly allowPreparedExec: boolean;
  readonly allowTunnel: boolean;
  readonly sandbox: SandboxSetting;
  readonly shutdownGracePeriodMs: number;
  readonly detachedSessionTtlMs: number;
  readonly maxDetachTtlMs: number;
  /** Null: never. */
  readonly idleExitMs: number | null;
  readonly keepProcessesOnSessionEnd: boolean;
  readonly sharedProcesses: boolean;
  readonly linger: boolean;
  readonly log: { readonly format: LogFormat; readonly level: LogLevel };
}

export function servingValues(values: FlagValues<ServingFlags>): ServingValues {
  return {
    concurrentRequests: values["concurrent-requests"],
    pingIntervalMs: values["ping-interval-ms"],
    maxProcessesPerConnection: values["max-processes-per-connection"],
    retainedOutputBytesPerProcess: values["retained-output-bytes-per-process"],
    closedProcessRetentionMs: values["closed-process-retention-ms"],
    maxClosedProcesses: values["max-closed-processes"],
    maxClosedProcessBytes: values["max-closed-process-bytes"],
    acknowledgedOutputBytes: values["acknowledged-output-bytes"],
    detachedOutputBytes: values["detached-output-bytes"],
    allowDirectExec: values["allow-direct-exec"],
    allowPreparedExec: values["allow-prepared-exec"],
    allowTunnel: values["allow-tunnel"],
    sandbox: values.sandbox,
    shutdownGracePeriodMs: values["shutdown-grace-period-ms"],
    detachedSessionTtlMs: values["detached-session-ttl-ms"],
    maxDetachTtlMs: values["max-detach-ttl-ms"],
    idleExitMs: durationMs("--idle-exit", values["idle-exit"]),
    keepProcessesOnSessionEnd: values["keep-processes-on-session-end"],
    sharedProcesses: values["shared-processes"],
    linger: values.linger,
    log: { format: values.log, level: values["log-level"] },
  };
}

/** The same values in the server's form, with the helpers of this program. */
export function serverSettings(options: ServingValues): Omit<ServerOptions, "listen"> {
  return {
    concurrentRequests: options.concurrentRequests,
    pingIntervalMs: options.pingIntervalMs,
    detachedSessionTtlMs: options.detachedSessionTtlMs,
    maxDetachTtlMs: options.maxDetachTtlMs,
    idleExitMs: options.idleExitMs,
    processes: {
      shutdownGracePeriodMs: options.shutdownGracePeriodMs,
      maxProcesses: options.maxProcessesPerConnection,
      retainedOutputBytes: options.retainedOutputBytesPerProcess,
      closedRetentionMs: options.closedProcessRetentionMs,
      maxClosedProcesses: options.maxClosedProcesses,
      maxClosedProcessBytes: options.maxClosedProcessBytes,
      acknowledgedOutputBytes: options.acknowledgedOutputBytes,
      detachedOutputBytes: options.detachedOutputBytes,
      allowDirect: options.allowDirectExec,
      allowPrepared: options.allowPreparedExec,
      keepOnSessionEnd: options.keepProcessesOnSessionEnd,
      sharedProcesses: options.sharedProcesses,
    },
    allowTunnel: options.allowTunnel,
    lingers: options.linger,
    sandbox: options.sandbox,
    runtimePaths: ownRuntimePaths(),
  };
}
