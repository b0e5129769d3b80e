/** Options of a new process, and the parameters of `process/start` made from them. */

import type { EnvironmentInfo } from "../../protocol/environment.ts";
import type { MethodTypes } from "../../protocol/method_types.ts";
import { type Duration, milliseconds } from "../duration.ts";
import { uriOf } from "../fs/paths.ts";

/**
 * How the environment of a process derives from the server's.
 *
 * ```ts
 * const envPolicy: EnvPolicy = { inherit: "core", exclude: ["AWS_*"] };
 * console.log((await box.run(["env"], { envPolicy, env: { CI: "1" } })).stdoutText);
 * ```
 */
export interface EnvPolicy {
  /** Begin with all variables of the server (default), those that every program needs, or none. */
  readonly inherit?: "all" | "core" | "none";
  /** Keep names that contain KEY, SECRET or TOKEN. They are dropped unless this is true. */
  readonly keepSecrets?: boolean;
  /** Names to drop; `*` and `?` stand for any characters and for one. */
  readonly exclude?: readonly string[];
  /** If not empty, only these names are kept. */
  readonly includeOnly?: readonly string[];
}

/**
 * What a process may do: one of three policies by name, or a sandbox object of the protocol. A server that cannot
 * confine a process like this refuses to start it.
 *
 * ```ts
 * const sandbox: Sandbox = "workspace-write";
 * console.log((await box.run(["make"], { sandbox, cwd: "/work" })).sandboxDenied);
 * ```
 */
export type Sandbox = "read-only" | "workspace-write" | "danger-full-access" | Readonly<Record<string, unknown>>;

/**
 * How a process is started. Nothing has a deadline unless one is given.
 *
 * ```ts
 * const options: SpawnOptions = { cwd: "/work", tty: { rows: 24, cols: 80 }, idleTimeout: "10m" };
 * const shell = await box.spawn(["bash", "-i"], options);
 * await shell.write("make\n");
 * ```
 */
export interface SpawnOptions {
  /** Where it runs; absolute. The server's own directory unless given. */
  readonly cwd?: string | undefined;
  /** Variables on top of those that `envPolicy` lets through. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** Which of the server's variables it gets. `"exact"`: only those of `env`. */
  readonly envPolicy?: EnvPolicy | "exact" | undefined;
  /** Whether its input can be written. Default: it reads nothing. A terminal can always be written. */
  readonly stdin?: "piped" | "null" | undefined;
  /** Runs it on a terminal of this size. */
  readonly tty?: boolean | { readonly rows: number; readonly cols: number } | undefined;
  /** Ends it after this time. */
  readonly timeout?: Duration | undefined;
  /** Ends it after this time without output. */
  readonly idleTimeout?: Duration | undefined;
  /** Confines it. */
  readonly sandbox?: Sandbox | undefined;
  /** Ends it when aborted. */
  readonly signal?: AbortSignal | undefined;
  /** Lets it outlive its session. It ends with the server at the latest. */
  readonly keep?: boolean | undefined;
  /**
   * `acknowledged` (default): nothing is lost, and a process whose output is not read waits. `latest` (default with
   * `keep`): the process never waits, the newest output is kept, and a gap is told.
   */
  readonly output?: "acknowledged" | "latest" | undefined;
  /** What the program sees as its own name. */
  readonly arg0?: string | undefined;
  /** Its id in this session, in place of a random one. */
  readonly id?: string | undefined;
  /** A name for people, unique among the processes of the server that have not closed. Refused where it is in use. */
  readonly name?: string | undefined;
}

type StartParams = MethodTypes["process/start"]["params"];

const DEFAULT_SIZE = { rows: 24, cols: 80 };

/** @throws {TypeError} when the options make no sense */
export function startParams(
  argv: readonly string[],
  options: SpawnOptions,
  { processId, info, output }: { processId: string; info: EnvironmentInfo; output: "acknowledged" | "latest" },
): StartParams {
  if (!Array.isArray(argv) || argv.length === 0 || argv.some((word) => typeof word !== "string")) {
    throw new TypeError("cannot start a process: argv must be an array of at least one string");
  }
  const size = terminalSize(options.tty);
  if (size !== null && options.stdin === "null") {
    throw new TypeError(
      'cannot start a process: a terminal always has an input, so `stdin: "null"` does not go with `tty`',
    );
  }
  const isPiped = options.stdin === "piped";
  const cwd = uriOf(options.cwd ?? info.cwd ?? info.userHomeDir ?? "/");
  const { timeout, idleTimeout } = options;
  const needsDeadlines = timeout !== undefined || idleTimeout !== undefined;
  if (needsDeadlines && info.capabilities.processDeadlines !== true) {
    throw new TypeError("cannot start a process with a timeout: this server does not support it; use an AbortSignal");
  }
  if (options.name !== undefined && info.capabilities.processName !== true) {
    throw new TypeError("cannot start a process with a name: this server does not support it");
  }
  return {
    processId,
    argv: [...argv],
    cwd,
    env: { ...options.env },
    ...(options.envPolicy === "exact" ? {} : { envPolicy: envPolicy(options.envPolicy ?? {}) }),
    // Servers without `io` know these two.
    tty: size !== null,
    pipeStdin: isPiped,
    ...(info.capabilities.processIo === true
      ? { io: size !== null ? { type: "pty", ...size } : { type: "pipe", stdin: isPiped ? "open" : "closed" } }
      : {}),
    ...(options.name === undefined ? {} : { name: options.name }),
    ...(options.arg0 === undefined ? {} : { arg0: options.arg0 }),
    ...(options.sandbox === undefined ? {} : { sandbox: sandboxObject(options.sandbox, cwd) }),
    ...(timeout === undefined ? {} : { timeoutMs: milliseconds(timeout, "timeout") }),
    ...(idleTimeout === undefined ? {} : { idleTimeoutMs: milliseconds(idleTimeout, "idleTimeout") }),
    ...(options.keep === undefined ? {} : { keepOnSessionEnd: options.keep }),
    ...(output === "latest" ? {} : { output }),
  } as StartParams;
}

/** A named policy as an object, at the directory where the process runs. */
export function sandboxObject(sandbox: Sandbox, cwd: string): Readonly<Record<string, unknown>> {
  return typeof sandbox === "string" ? { sandboxPolicy: { type: sandbox }, cwd } : sandbox;
}

function terminalSize(tty: SpawnOptions["tty"]): { rows: number; cols: number } | null {
  if (tty === undefined || tty === false) return null;
  return tty === true ? DEFAULT_SIZE : { rows: tty.rows, cols: tty.cols };
}

function envPolicy({ inherit = "all", keepSecrets = false, exclude = [], includeOnly = [] }: EnvPolicy) {
  return { inherit, ignoreDefaultExcludes: keepSecrets, exclude: [...exclude], set: {}, includeOnly: [...includeOnly] };
}
