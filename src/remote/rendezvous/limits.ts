/** Bounds of the rendezvous, each with its reason. */

const KIB = 1024;
const MIB = 1024 * KIB;

/** Below the half minute or so after which NATs and proxies forget a connection on which nothing moves. */
export const PING_INTERVAL_MS = 15_000;
/** Three pings without a byte. A devbox that is only slow answers the second. */
export const MAX_SILENT_MS = 45_000;
/** How long a peer that is shown out may take to close, so that it reads why. */
export const LINGER_MS = 1000;

/**
 * A request's body. The longest that is known, the noise form's registration, has 1.8 KiB: two keys of 1216 bytes in
 * base64, and their names.
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

/** How long an executor whose place another one wants may take to show that it lives. */
export const PROBE_MS = 4000;
/** An executor that was silent for longer is asked for a sign of life before a client is given to it. */
export const FRESH_MS = 5000;

/** Websockets that an executor of our own is asked to keep ready, so that a second client need not wait for one. */
export const SPARE_CONNECTIONS = 2;
/** Unused websockets of one executor that are kept. One more pushes the oldest out. */
export const MAX_IDLE_CONNECTIONS = 8;

/**
 * How much of one stream an executor of ours may have on its way to a harness: 64 records of the noise form. It hears what
 * was passed on, and waits by itself, so that a harness that reads slowly holds up no other.
 */
export const STREAM_WINDOW_BYTES = 4 * MIB;
/** It is told once for this many bytes: a frame of 45 bytes for eight records. */
export const ACK_BYTES = STREAM_WINDOW_BYTES / 8;
/** Queued for all streams of one harness of such an executor. Harnesses have one or two. One that holds more is dropped. */
export const MAX_LINE_BYTES = 4 * STREAM_WINDOW_BYTES;

/**
 * For executors that cannot be told. What is queued for a harness that reads more slowly than the executor sends: beyond it
 * nothing is read from the executor, as long as the harness goes on taking bytes.
 */
export const MAX_QUEUED_BYTES = 4 * MIB;
/** While we find out whether the harness takes any bytes, this much is queued, and nobody else waits for it. */
export const MAX_QUEUED_UNJUDGED_BYTES = 32 * MIB;
/**
 * A harness with a full queue that takes nothing for this long would hold up the others of its executor, and is
 * dropped.
 */
export const MAX_STALL_MS = 1000;

/** Executors that are connected or expected. Each costs some 2 KiB, and its connections besides. */
export const MAX_EXECUTORS = 10_000;

/** Defaults of what operators may set. */
export const DEFAULT_MAX_CLIENTS_PER_EXECUTOR = 64;
export const DEFAULT_MAX_CONNECTIONS_PER_TOKEN = 2048;
export const DEFAULT_MAX_CONNECTIONS_PER_ADDRESS = 2048;
/** A fleet of a thousand executors behind one address is back in ten seconds: each asks twice, for a URL and with it. */
export const DEFAULT_REQUESTS_PER_SECOND = 200;
/** Requests that come at once without being slowed down. */
export const REQUEST_BURST = 200;
/**
 * How long an answer may be put off. An executor of the reference exits when a registration fails, and gives up waiting
 * after 10 s: so it is slowed down rather than refused.
 */
export const MAX_PUT_OFF_MS = 8000;
/** Addresses whose requests are counted. Those that are not busy are forgotten. */
export const MAX_COUNTED_ADDRESSES = 10_000;

/** What operators may set. */
export interface RendezvousLimits {
  readonly clientsPerExecutor: number;
  readonly connectionsPerToken: number;
  readonly connectionsPerAddress: number;
  readonly requestsPerSecond: number;
  /** Bounds on all connections, from the number of descriptors there are. */
  readonly connections: { readonly waiting: number; readonly served: number };
}
