/** Bounds of the rendezvous, each with its reason. */

const KIB = 1024;
const MIB = 1024 * KIB;

/** Shorter than the time (about half a minute) after which NATs and proxies drop an idle connection. */
export const PING_INTERVAL_MS = 15_000;
/** Three pings without an answer. A devbox that is only slow answers the second. */
export const MAX_SILENT_MS = 45_000;
/** How long a peer may take to close after we have ended the connection, so that it can read the reason. */
export const LINGER_MS = 1000;

/**
 * The longest body of a request. The longest known one, a registration in the noise form, has 1.8 KiB: two keys of 1216
 * bytes in base64, and their names.
 */
export const MAX_BODY_BYTES = 16 * KIB;

/** How long a URL or a harness's authorisation can be used. Clients use theirs within seconds. */
export const TICKET_TTL_MS = 60_000;

/**
 * How long the answer to a client is held while its executor is away. The reference's harness asks again when `connect`
 * was not answered in 6 s, and its client with a plain URL gives up an upgrade after 10 s.
 */
export const HOLD_CONNECT_MS = 5000;
export const HOLD_UPGRADE_MS = 8000;
/** Requests held for one executor. */
export const MAX_HELD_PER_EXECUTOR = 64;

/** How long an executor may take to show that it is alive when another one wants its id. */
export const PROBE_MS = 4000;
/** An executor that was silent for longer is asked for a sign of life before it gets a client. */
export const FRESH_MS = 5000;

/** How many websockets our own executors are asked to keep ready, so that a second client need not wait for one. */
export const SPARE_CONNECTIONS = 2;
/** How many unused websockets of one executor are kept. For one more the oldest is closed. */
export const MAX_IDLE_CONNECTIONS = 8;

/**
 * How much of one stream our own executors may have under way to a harness: 64 records of the noise form. The executor
 * is told what was passed on and waits by itself, so a harness that reads slowly does not delay others.
 */
export const STREAM_WINDOW_BYTES = 4 * MIB;
/** The executor is told once for this many bytes: a frame of 45 bytes for eight records. */
export const ACK_BYTES = STREAM_WINDOW_BYTES / 8;
/**
 * How much is queued for all streams of one harness of such an executor. Harnesses have one or two. A harness with more
 * is dropped.
 */
export const MAX_LINE_BYTES = 4 * STREAM_WINDOW_BYTES;

/**
 * For executors that cannot be told. How much is queued for a harness that reads more slowly than the executor sends.
 * Then nothing more is read from the executor, as long as the harness goes on reading.
 */
export const MAX_QUEUED_BYTES = 4 * MIB;
/** How much is queued while we find out whether the harness reads at all, so that nobody else waits for it. */
export const MAX_QUEUED_UNJUDGED_BYTES = 32 * MIB;
/**
 * A harness with a full queue that reads nothing for this long would delay the others of its executor, and is dropped.
 */
export const MAX_STALL_MS = 1000;

/** How many executors may be connected or expected. Each takes some 2 KiB, without its connections. */
export const MAX_EXECUTORS = 10_000;

/** Defaults of what operators may set. */
export const DEFAULT_MAX_CLIENTS_PER_EXECUTOR = 64;
export const DEFAULT_MAX_CONNECTIONS_PER_TOKEN = 2048;
export const DEFAULT_MAX_CONNECTIONS_PER_ADDRESS = 2048;
/** A thousand executors behind one address are back in ten seconds: each sends two requests, for a URL and with it. */
export const DEFAULT_REQUESTS_PER_SECOND = 200;
/** How many requests may come at once without being delayed. */
export const REQUEST_BURST = 200;
/**
 * How long an answer may be delayed. The reference's executor exits when a registration fails, and waits for at most 10
 * s. So its requests are delayed rather than refused.
 */
export const MAX_PUT_OFF_MS = 8000;
/** How many addresses are remembered. Those that are not busy are forgotten. */
export const MAX_COUNTED_ADDRESSES = 10_000;

/** What operators may set. */
export interface RendezvousLimits {
  readonly clientsPerExecutor: number;
  readonly connectionsPerToken: number;
  readonly connectionsPerAddress: number;
  readonly requestsPerSecond: number;
  /** Bounds for all connections together, computed from the number of descriptors. */
  readonly connections: { readonly waiting: number; readonly served: number };
}
