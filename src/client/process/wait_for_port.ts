/**
 * Waits until something on the box listens on a TCP port. Looks at the kernel's list of sockets and connects to nothing:
 * a server that is being waited for sees no strange connection.
 */

import { type Duration, milliseconds } from "../duration.ts";
import { abortedBy, ServerError, TimedOutError } from "../errors.ts";

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
  /** Gives up with a `TimedOutError`. 30 s unless given. */
  readonly timeout?: Duration | undefined;
  /** Gives up. */
  readonly signal?: AbortSignal | undefined;
}

/** The part of the box's files that is used. */
interface Files {
  readTextFile(path: string, options?: { signal?: AbortSignal | undefined }): Promise<string>;
}

const DEFAULT_TIMEOUT_MS = 30_000;
const FIRST_LOOK_MS = 20;
const MAX_LOOK_MS = 500;
const LISTEN = "0A";

/** See the head of the module. */
export async function waitForPort(files: Files, port: number, options: WaitForPortOptions): Promise<void> {
  if (!Number.isInteger(port) || port < 1 || port > 65535) {
    throw new TypeError(`cannot wait for port ${port}: it is none`);
  }
  const { signal } = options;
  const timeoutMs = options.timeout === undefined ? DEFAULT_TIMEOUT_MS : milliseconds(options.timeout, "timeout");
  const deadline = performance.now() + timeoutMs;
  for (let waitMs = FIRST_LOOK_MS;; waitMs = Math.min(2 * waitMs, MAX_LOOK_MS)) {
    if (signal?.aborted) throw abortedBy(signal, `waiting for port ${port}`);
    if (await isListening(files, port, signal)) return;
    const leftMs = deadline - performance.now();
    if (leftMs <= 0) throw new TimedOutError(`waiting for port ${port}: nothing listens on it after ${timeoutMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, Math.min(waitMs, leftMs)));
  }
}

async function isListening(files: Files, port: number, signal: AbortSignal | undefined): Promise<boolean> {
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
