/**
 * Every bound of the filesystem layer, with its reason. Bounds that a client can meet are the reference's unless stated
 * otherwise.
 */

const KIB = 1024;
const MIB = 1024 * KIB;

// ---------------------------------------------------------------- what a client may ask for

/** Content answered or digested at once. Larger files are read in blocks. */
export const MAX_READ_FILE_BYTES = 512 * MIB;

/** No byte of a file lies at or beyond this: file positions are signed in the kernel. */
export const MAX_OFFSET = 2 ** 63 - 1;

/** Open handles of one connection. Each costs a descriptor. */
export const MAX_HANDLES = 128;
/** In UTF-8. Clients use 32 hex digits. */
export const MAX_HANDLE_ID_BYTES = 32;
/** One block of a stream; as base64 it is a twelfth of the largest frame. */
export const MAX_BLOCK_BYTES = 1 * MIB;

export const MAX_DIRECTORY_ENTRIES = 50_000;

/**
 * The size of what `fs/list` answers, about: 50,000 of the longest names, or 8000 of the longest targets of links. The
 * rest is bounded by the number of entries.
 */
export const MAX_LIST_BYTES = 32 * MIB;
/** What an entry takes on the wire besides its texts. */
export const LIST_ITEM_BYTES = 128;

export const MAX_WALK_DEPTH = 64;
export const MAX_WALK_DIRECTORIES = 10_000;
export const MAX_WALK_ENTRIES = 50_000;
/** The size of a walk's result: bytes of the URIs, plus `WALK_ITEM_BYTES` for each entry and error. */
export const MAX_WALK_RESULT_BYTES = 4 * MIB;
/** What an entry takes on the wire besides its URI, rounded up. */
export const WALK_ITEM_BYTES = 64;

/** Paths of one `fs/watchMissing`. */
export const MAX_MISSING_PATHS = 64;

// Ours: the reference has no `fs/watch`.

/** Watches of one connection. Editors open one per workspace folder. */
export const MAX_WATCHES = 64;
/**
 * Directories watched for one connection. Each takes a kilobyte of kernel memory, from a limit shared by all programs
 * of the user.
 */
export const MAX_WATCHED_DIRECTORIES = 16_384;
/**
 * Changed paths of one watch that are not yet reported. More become one overflow event: the client has to look anyway.
 */
export const MAX_PENDING_CHANGES = 8_192;
/** Changes in one notification, so that a burst does not hold up everything behind it. */
export const MAX_CHANGES_PER_NOTIFICATION = 512;
/**
 * How long changes are collected when the client does not say. A save in an editor makes several events within this
 * time.
 */
export const DEFAULT_DEBOUNCE_MS = 50;
export const MAX_DEBOUNCE_MS = 10_000;

/**
 * Large reads of one connection at once: one that is being sent and one that is being read. Each may hold
 * `MAX_READ_FILE_BYTES`, or a descriptor, as long as the client takes to read it. Further ones wait.
 */
export const MAX_LARGE_READS = 2;
/** Up to this size content is read without asking for room. */
export const SHORT_READ_BYTES = 64 * KIB;
/** Assumed size of a file that is longer than it says, as in /proc. A few megabytes is the most there is. */
export const UNKNOWN_LENGTH_BYTES = 8 * MIB;
/** From this size on a read is large. */
export const LARGE_READ_BYTES = 1 * MIB;

// ---------------------------------------------------------------- how the work is cut

/**
 * Calls on the runtime's pool at once. The pool has some 32 threads, one of which waits for all descriptors. A device
 * that does not answer must never take them all.
 */
export const MAX_BLOCKING_CALLS = 8;

/**
 * Content handed over at a time. A multiple of 3, so that each piece can be base64-encoded by itself; encoded it is a
 * mebibyte.
 */
export const PIECE_BYTES = 768 * KIB;

/**
 * Content read at a time while it is sent. Small enough that the bytes, their text and the message stay in the
 * processor's cache. A multiple of 3.
 */
export const STREAMED_PIECE_BYTES = 96 * KIB;

/**
 * Distance of the samples that tell whether a large file is in memory, and size of the pieces in which missing parts
 * are read. Files enter and leave memory in stretches of about this length.
 */
export const RESIDENCY_STEP_BYTES = 256 * KIB;

/**
 * Up to this size, a file that cannot tell whether it is in memory is read on the event loop: 10 to 20 microseconds.
 */
export const SMALL_READ_BYTES = 64 * KIB;

/** Up to this size content is written on the event loop, into the page cache: 20 to 40 microseconds. */
export const SMALL_WRITE_BYTES = 64 * KIB;

/** Content written by one call on the pool. */
export const WRITE_CHUNK_BYTES = 8 * MIB;

/** Content copied by one call on the pool. A copy can be cancelled between two calls. */
export const COPY_CHUNK_BYTES = 32 * MIB;
/** Directory records read by one call: some 1000 names. */
export const RECORDS_BYTES = 32 * KIB;

/** Descriptors a recursive operation keeps open per tree; deeper levels reopen their ancestors. */
export const MAX_OPEN_LEVELS = 32;

/**
 * How long a conditional write waits for another server's conditional write of the same file. That one takes
 * milliseconds.
 */
export const LOCK_TIMEOUT_MS = 5_000;
export const LOCK_RETRY_MS = 5;
