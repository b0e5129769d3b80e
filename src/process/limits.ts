/**
 * Every bound of the process layer, with its reason. Bounds that a user may want to change are options elsewhere, with
 * their defaults here.
 */

/** Output kept per process for `process/read`, and the most that a snapshot returns. The reference's figure. */
export const DEFAULT_RETAINED_OUTPUT_BYTES = 1024 * 1024;

/**
 * Chunks kept per process. A child that writes single bytes would otherwise fill the byte limit with a million arrays,
 * each costing a hundred times its content. This many stay below about 10 MiB.
 */
export const MAX_RETAINED_CHUNKS = 50_000;

/**
 * Sizes of dropped chunks remembered per process, at four bytes each, to tell a reader how much it has missed. At 64
 * KiB per chunk they cover 512 MiB, at a terminal's 4 KiB 32 MiB.
 */
export const MAX_REMEMBERED_DROPPED_SIZES = 8192;

/**
 * Output of all processes that no client has acknowledged, for processes whose output must not be lost: 512 windows of
 * the default size.
 */
export const DEFAULT_ACKNOWLEDGED_OUTPUT_BYTES = 512 * 1024 * 1024;

/** What one such process may have while its client is away: some seconds of a build that prints without end. */
export const DEFAULT_DETACHED_OUTPUT_BYTES = 64 * 1024 * 1024;

/**
 * What a window grows to for a client who keeps pace, in windows: with the default 8 MiB, which a round trip of 10 ms
 * on a busy machine lets through at 800 MB/s.
 */
export const MAX_GROWN_WINDOWS = 8;
/**
 * A client whose acknowledgement comes within this time of the window being full keeps pace: a long way, but no slow
 * reader.
 */
export const PROMPT_ACK_MS = 500;
/** A grown window that was not full for this long is given back with the acknowledgement that empties it. */
export const CALM_MS = 25;

/**
 * The part of it that is lent neither to processes whose clients are away nor to fast ones, so that connected clients can
 * still start some.
 */
export const RESERVED_FOR_STARTS = 1 / 4;

/**
 * What a killed process may have written beyond its full window: two pipes of 64 KiB, and what is read of each in one
 * turn before the next check.
 */
export const MAX_LAST_WORDS_BYTES = 256 * 1024;

/**
 * Whole chunks are kept or dropped, so a chunk may be at most this part of the limit. With a small limit some output
 * then stays readable instead of none.
 */
export const MIN_CHUNKS_PER_RETENTION = 4;

/** Chunks are never cut smaller than this, even for a tiny limit: each one costs a notification. */
export const MIN_CHUNK_BYTES = 64;

/**
 * How long a closed process can still be read and its id is taken. Only time with a client that could read it counts.
 * The reference's figure.
 */
export const CLOSED_RETENTION_MS = 30_000;

/**
 * Closed processes of all sessions that are retained, by number and by memory. One costs about 6 KiB plus its output;
 * with the default output limit at most 1.6 MiB. So 4096 silent ones take 24 MiB, and 160 that printed a lot reach the
 * byte limit first.
 */
export const DEFAULT_MAX_CLOSED_PROCESSES = 4096;
export const DEFAULT_MAX_CLOSED_BYTES = 256 * 1024 * 1024;

/** Ports listed per process: a server that listens on more says so itself. */
export const MAX_LISTED_PORTS = 32;

/** What a closed process costs besides its output and the texts that are counted one by one. Measured. */
export const CLOSED_PROCESS_OVERHEAD_BYTES = 6 * 1024;

/** Evicted ids whose readers are told why they are gone; per session, and as many uids per server. */
export const MAX_REMEMBERED_EVICTIONS = 1024;

/** Between two log lines about evictions. */
export const EVICTION_LOG_INTERVAL_MS = 10_000;

/** Failed starts of a session that clients can still ask about. Each is an id and a message. */
export const MAX_REMEMBERED_FAILED_STARTS = 64;

/**
 * How long output may follow the exit of a sandboxed child before it is judged whether the sandbox refused something.
 */
export const DENIAL_GRACE_MS = 20;

/**
 * Refusals recorded per process, each kind once. A program makes three or four kinds, and a client gets them with every
 * read.
 */
export const MAX_DENIALS = 32;
/** Length of a program's path in such a record. Longer ones are cut. */
export const MAX_DENIED_PROGRAM_CHARACTERS = 256;
/**
 * Addresses of refused connections that are read from their callers' memory at a time. A caller can make that take
 * forever, and it occupies one of the runtime's some 32 threads. Further connections are then refused without a record.
 */
export const MAX_ADDRESS_READS = 4;

/**
 * Input accepted but not yet taken by the kernel. Beyond either bound the next write waits, and only its sender with
 * it. At most one more write is in memory, so a child that never reads costs 1 MiB and one message.
 */
export const MAX_QUEUED_INPUT_BYTES = 1024 * 1024;
export const MAX_QUEUED_INPUT_CHUNKS = 128;

/** Accepted write ids remembered per process: more than a client can have unanswered when its connection breaks. */
export const REMEMBERED_WRITE_IDS = 4096;

/**
 * How long a killed process may still deliver what was already in its pipes. End of file normally follows the kill at
 * once; only a descendant that left the group and holds the pipe makes this wait necessary.
 */
export const DRAIN_AFTER_KILL_MS = 50;

/** Between the SIGTERM and the SIGKILL of a process that outlived its deadline. */
export const DEADLINE_KILL_GRACE_MS = 2_000;

/**
 * Closed children whose handles a session keeps, to find what they left running when it ends. Each takes less than two
 * kilobytes. A daemon older than this many commands of the same session is ended with the server instead.
 */
export const MAX_REMEMBERED_CHILDREN = 4096;

/** How long the end of a session waits for killed children to be reaped. Only an uninterruptible child needs longer. */
export const REAP_TIMEOUT_MS = 5_000;

/**
 * Stalled processes resumed at a time when the connection has room again. Each may deliver a full chunk before it
 * learns that the room is gone, so a thousand at once would be 64 MiB.
 */
export const RESUME_BATCH = 16;
/** Between two such batches: one turn of the event loop, in which the first batch delivers. */
export const RESUME_INTERVAL_MS = 1;
