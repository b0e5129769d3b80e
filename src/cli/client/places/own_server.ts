/**
 * The server of this user on this machine: found by its socket, and started when it is not there.
 *
 * Two commands that find no server at the same moment start one together: a lock on a file lets one start it while the
 * other waits. The server outlives the command that started it, and ends by itself after a long time without use. It
 * gets no more of the caller's environment than a login would give, so that it does not matter which command came
 * first.
 */

import { refusal } from "../../cli_error.ts";
import type { Environment } from "../../flags.ts";
import { ownCommand } from "../../own_command.ts";
import { prepareStateDirectory, SOCKET_NAME, stateDirectory } from "./state_directory.ts";

/** After this time without use nobody comes back to it. A process that runs counts as use. */
const IDLE_EXIT = "1h";
/** Of the log of the server before: what is older is dropped at a start. */
const MAX_LOG_BYTES = 1024 * 1024;
/** What a login sets, and the ways to the network. All else is one terminal's business. */
const KEPT_VARIABLES =
  /^(HOME|USER|LOGNAME|SHELL|PATH|TZ|TMPDIR|DENO_DIR|LANG|LC_\w+|XDG_\w+_(HOME|DIRS)|SSL_CERT_FILE|(HTTPS?|ALL|NO)_PROXY|(https?|all|no)_proxy)$/;

/** Sees to it that a server listens there. Returns when it does. */
export async function ensureOwnServer(env: Environment): Promise<void> {
  const directory = stateDirectory(env);
  prepareStateDirectory(directory);
  using lock = await Deno.open(`${directory}/server.lock`, { write: true, create: true, mode: 0o600 });
  await lock.lock(true);
  if (await isListening(`${directory}/${SOCKET_NAME}`)) return;
  await start(directory, env);
}

async function isListening(path: string): Promise<boolean> {
  try {
    (await Deno.connect({ transport: "unix", path })).close();
    return true;
  } catch {
    return false; // Whatever it is: starting the server says what is wrong.
  }
}

async function start(directory: string, env: Environment): Promise<void> {
  const log = `${directory}/server.log`;
  trimLog(log);
  const words = [
    ...ownCommand(),
    "serve",
    `--listen=unix:${directory}/${SOCKET_NAME}`,
    "--allow-tunnel",
    `--idle-exit=${IDLE_EXIT}`,
  ];
  // The shell opens the log; it is the server itself from then on.
  const child = new Deno.Command("/bin/sh", {
    args: ["-c", 'log=$0; unset PWD OLDPWD; exec "$@" 2>>"$log"', log, ...words],
    cwd: "/",
    clearEnv: true,
    env: Object.fromEntries(Object.entries(env).filter(([name]) => KEPT_VARIABLES.test(name))) as Record<
      string,
      string
    >,
    stdin: "null",
    stdout: "piped",
    stderr: "null",
    detached: true,
  }).spawn();
  // It prints its address when it listens, and closes its standard output without a line when it cannot.
  const reader = child.stdout.getReader();
  const { value } = await reader.read();
  await reader.cancel();
  if (value === undefined) {
    const { code } = await child.status;
    throw refusal(`cannot start your own server: it ended with ${code}; see ${log}`);
  }
  child.unref();
}

function trimLog(path: string): void {
  try {
    if (Deno.lstatSync(path).size > MAX_LOG_BYTES) Deno.truncateSync(path);
  } catch {
    // There is none yet.
  }
}
