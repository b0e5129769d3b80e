/**
 * Every bound of the process layer, with its reason. Those a user may want to change are options elsewhere and have
 * their defaults here.
 */

/** Output kept per process for `process/read`, and the most a snapshot answers. The reference's figure. */
export const DEFAULT_RETAINED_OUTPUT_BYTES = 1024 * 1024;

/**
 * Chunks kept per process. A child that writes single bytes would otherwise fill the byte cap with a million arrays,
 * each costing a hundred times its content; at this count they stay below about 10 MiB.
 */
export const MAX_RETAINED_CHUNKS = 50_000;

/**
 * Whole chunks are retained or dropped, so a chunk may be no larger than this part of the cap: with a small cap some
 * output stays readable instead of none.
 */
export const MIN_CHUNKS_PER_RETENTION = 4;

/** Chunks are never cut smaller than this for the sake of a tiny cap: each one costs a notification. */
export const MIN_CHUNK_BYTES = 64;

/** How long a closed process can still be read and its id is taken: time for a client to reconnect and catch up. */
export const CLOSED_RETENTION_MS = 30_000;

/** How long output may trail the exit of a sandboxed child before it is judged whether the sandbox refused it something. */
export const DENIAL_GRACE_MS = 20;

/**
 * Refusals recorded per process, each kind once: a program makes some three or four kinds, and a client is told of them
 * with every read.
 */
export const MAX_DENIALS = 32;
/** Of the path of a program in such a record. Longer ones are cut. */
export const MAX_DENIED_PROGRAM_CHARACTERS = 256;
/**
 * Addresses of refused connections that are being read from their callers' memory at a time. A caller can make that take
 * for ever, and with it one of the runtime's some 32 threads; further connections are refused without a record then.
 */
export const MAX_ADDRESS_READS = 4;

/**
 * Input accepted but not yet taken by the kernel. Beyond either bound the next write waits, and with it only its
 * sender. One write more than that is in memory at most, so a child that never reads costs 1 MiB and one message.
 */
export const MAX_QUEUED_INPUT_BYTES = 1024 * 1024;
export const MAX_QUEUED_INPUT_CHUNKS = 128;

/** Accepted write ids remembered per process: more than a client can have unanswered when its connection breaks. */
export const REMEMBERED_WRITE_IDS = 4096;

/**
 * How long a killed process may still deliver what already was in its pipes. End of file normally follows the kill at
 * once; only a descendant that left the group and holds the pipe makes this wait end.
 */
export const DRAIN_AFTER_KILL_MS = 50;

/** Between the SIGTERM and the SIGKILL of a process that outlived its deadline. */
export const DEADLINE_KILL_GRACE_MS = 2_000;

/**
 * Closed children whose handles a session keeps, to find what they left running when it ends. At less than two kilobytes
 * each; a daemon older than so many commands of the same session is ended with the server instead.
 */
export const MAX_REMEMBERED_CHILDREN = 4096;

/** How long the end of a session waits for killed children to be reaped. Only an uninterruptible child needs longer. */
export const REAP_TIMEOUT_MS = 5_000;

/**
 * Stalled processes resumed at a time when the connection has room again: each may deliver a full chunk before it
 * learns that the room is gone, so a thousand at once would be 64 MiB.
 */
export const RESUME_BATCH = 16;
/** Between two such batches: one turn of the event loop, in which the first batch delivers. */
export const RESUME_INTERVAL_MS = 1;
