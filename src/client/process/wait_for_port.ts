/**
 * Waits until something on the box listens on a TCP port. Reads the kernel's list of sockets and never connects, so the
 * awaited server sees no strange connection.
 */

import { type Duration, milliseconds } from "../duration.ts";
import { ServerError } from "../errors.ts";
import { delay } from "../session/back_off.ts";
import { within } from "./within.ts";

/**
 * How long to wait.
 *
 * ```ts
 * const options: WaitForPortOptions = { timeout: "30s" };
 * await box.spawn(["python3", "-m", "http.server", "8000"]);
 * await box.waitForPort(8000, options);
 * ```
 */
export interface WaitForPortOptions {
  /** Gives up with a `TimedOutError`. */
  readonly timeout?: Duration | undefined;
  /** Gives up. */
  readonly signal?: AbortSignal | undefined;
}

/** The part of the box's files that is used. */
interface Files {
  readTextFile(path: string, options?: { signal?: AbortSignal | undefined }): Promise<string>;
}

const FIRST_LOOK_MS = 20;
const MAX_LOOK_MS = 500;
const LISTEN = "0A";

/** See the head of the module. */
export async function waitForPort(files: Files, port: number, options: WaitForPortOptions): Promise<void> {
  if (!Number.isInteger(port) || port < 1 || port > 65535) {
    throw new TypeError(`cannot wait for port ${port}: it must be a number from 1 to 65535`);
  }
  const { timeout, signal } = options;
  const timeoutMs = timeout === undefined ? null : milliseconds(timeout, "timeout");
  // The deadline also counts while the connection is lost, when a look does not return.
  const stop = new AbortController();
  try {
    await within(look(files, port, stop.signal), { timeoutMs, signal, what: `waiting for port ${port}` });
  } finally {
    stop.abort();
  }
}

/** Resolves when something listens there. */
async function look(files: Files, port: number, signal: AbortSignal): Promise<void> {
  for (let waitMs = FIRST_LOOK_MS; !signal.aborted; waitMs = Math.min(2 * waitMs, MAX_LOOK_MS)) {
    if (await isListening(files, port, signal)) return;
    await delay(waitMs, signal);
  }
}

async function isListening(files: Files, port: number, signal: AbortSignal): Promise<boolean> {
  const tables = await Promise.all(["/proc/net/tcp", "/proc/net/tcp6"].map(async (path) => {
    try {
      return await files.readTextFile(path, { signal });
    } catch (error) {
      // A machine without IPv6 has no such list.
      if (error instanceof ServerError && error.isNotFound) return "";
      throw error;
    }
  }));
  if (tables.every((table) => table === "")) throw new Error("cannot wait for a port: the box has no /proc/net/tcp");
  const wanted = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  return tables.some((table) =>
    table.split("\n").some((line) => {
      const [, local = "", , state] = line.trim().split(/\s+/);
      return state === LISTEN && local.endsWith(wanted);
    })
  );
}
