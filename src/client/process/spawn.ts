/** Starts processes, and finds those that were started before. */

import { ERROR_CODES } from "../../protocol/error_codes.ts";
import { abortedBy, ServerError } from "../errors.ts";
import type { Session } from "../session/session.ts";
import type { OverflowRule } from "./output_hub.ts";
import { ProcessHandle } from "./process_handle.ts";
import type { ProcessReference } from "./process_types.ts";
import { type SpawnOptions, startParams } from "./spawn_options.ts";
import { within } from "./within.ts";

/** How much unread output is kept here if the server does not hold it back. Then the oldest is dropped. */
const LATEST_BYTES = 1024 * 1024;
/**
 * The same if all output was wanted but the server cannot hold it back: as much as other servers hold for a client that
 * is away.
 */
const UNACKNOWLEDGED_BYTES = 64 * 1024 * 1024;

/**
 * Starts a process. The receiver of its events is registered before the server is asked, and removed if the start
 * fails.
 */
export async function spawn(session: Session, argv: readonly string[], options: SpawnOptions): Promise<ProcessHandle> {
  const { signal } = options;
  const what = `cannot start ${JSON.stringify(argv[0])}`;
  if (signal?.aborted) throw abortedBy(signal, what);
  const processId = options.id ?? crypto.randomUUID();
  const wanted = options.output ?? (options.keep === true ? "latest" : "acknowledged");
  const isHeld = wanted === "acknowledged" && session.has("acknowledgedOutput");
  const params = startParams(argv, options, {
    processId,
    info: session.environmentInfo,
    output: isHeld ? "acknowledged" : "latest",
  });
  const tty = params.tty === true;
  const handle = new ProcessHandle({
    session,
    reference: {
      processId,
      uid: null,
      sessionId: session.sessionId,
      tty,
      stdin: tty || options.stdin === "piped",
      afterSeq: 0,
    },
    isOwn: true,
    rule: overflowRule(wanted, isHeld),
    isKept: options.keep === true,
  });
  const starting = session.call("process/start", params, {
    // Only this start uses the id: it exists because the first attempt has arrived.
    resultOfRepeated: (error) => isInUse(error, processId) ? {} : undefined,
  }) as Promise<{ uid?: string; outputWindowBytes?: number | null }>;
  try {
    const { uid, outputWindowBytes } = await within(starting, { timeoutMs: null, signal, what });
    handle.started({ uid: uid ?? null, windowBytes: outputWindowBytes ?? null });
  } catch (error) {
    handle.abandon(error instanceof Error ? error : new Error(String(error)));
    // The answer may still come, when the connection is back. Then there is a process to end.
    if (signal?.aborted) starting.then(() => end(handle), () => {});
    throw error;
  }
  endOnAbort(handle, signal);
  return handle;
}

/** A process that was started before, by this session or, if it is kept, by another one. */
export function adopt(session: Session, reference: ProcessReference): ProcessHandle {
  const isOwn = reference.sessionId === session.sessionId;
  if (!isOwn && reference.uid === null) {
    throw new TypeError("cannot reach a process of another session: its reference has no uid");
  }
  const handle = new ProcessHandle({
    session,
    reference,
    isOwn,
    rule: isOwn && session.has("acknowledgedOutput")
      ? { type: "acknowledged" }
      : { type: "latest", maxBytes: UNACKNOWLEDGED_BYTES },
    isKept: true,
  });
  handle.fetch();
  return handle;
}

function overflowRule(wanted: "acknowledged" | "latest", isHeld: boolean): OverflowRule {
  if (isHeld) return { type: "acknowledged" };
  return { type: "latest", maxBytes: wanted === "latest" ? LATEST_BYTES : UNACKNOWLEDGED_BYTES };
}

function isInUse(error: ServerError, processId: string): boolean {
  return error.code === ERROR_CODES.invalidRequest && error.message.includes(processId) &&
    /already exists/.test(error.message);
}

/** Aborting the signal of a start ends the process. */
function endOnAbort(handle: ProcessHandle, signal: AbortSignal | undefined): void {
  if (signal === undefined) return;
  const abort = () => end(handle);
  if (signal.aborted) return abort();
  signal.addEventListener("abort", abort, { once: true });
  handle.onEnd(() => signal.removeEventListener("abort", abort));
}

/** Ends a process with its descendants. It may have ended by itself, or together with the session. */
function end(handle: ProcessHandle): void {
  handle.terminate({ tree: true }).catch(() => handle.terminate().catch(() => {}));
}
