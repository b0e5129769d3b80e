/**
 * Every bound of the filesystem layer, with its reason. Those that a client meets are the reference's figures unless it
 * says otherwise.
 */

const KIB = 1024;
const MIB = 1024 * KIB;

// ---------------------------------------------------------------- what a client may ask for

/** Content answered or digested at once; beyond it there are blocks. */
export const MAX_READ_FILE_BYTES = 512 * MIB;

/** Open handles of one connection. Each costs a descriptor. */
export const MAX_HANDLES = 128;
/** In UTF-8. Clients use 32 hex digits. */
export const MAX_HANDLE_ID_BYTES = 32;
/** One block of a stream; as base64 it is a tenth of the largest frame. */
export const MAX_BLOCK_BYTES = 1 * MIB;

export const MAX_DIRECTORY_ENTRIES = 50_000;

export const MAX_WALK_DEPTH = 64;
export const MAX_WALK_DIRECTORIES = 10_000;
export const MAX_WALK_ENTRIES = 50_000;
/** Of a walk's result: URI bytes plus `WALK_ITEM_BYTES` for each entry and error. */
export const MAX_WALK_RESULT_BYTES = 4 * MIB;
/** What an entry takes on the wire besides its URI, and then some. */
export const WALK_ITEM_BYTES = 64;

/** Paths of one `fs/watchMissing`. */
export const MAX_MISSING_PATHS = 64;

// Ours: the reference has no `fs/watch`.

/** Watches of one connection. Editors open one per workspace folder. */
export const MAX_WATCHES = 64;
/** Directories watched for one connection: a kilobyte of kernel memory each, out of a limit all of the user's programs share. */
export const MAX_WATCHED_DIRECTORIES = 16_384;
/** Changed paths of one watch waiting to be told. More become one overflow event: the client has to look anyway. */
export const MAX_PENDING_CHANGES = 8_192;
/** Changes in one notification, so that a burst does not hold up everything behind it. */
export const MAX_CHANGES_PER_NOTIFICATION = 512;
/** How long changes are gathered when the client does not say: a save in an editor is several events within this. */
export const DEFAULT_DEBOUNCE_MS = 50;
export const MAX_DEBOUNCE_MS = 10_000;

/**
 * Large reads of one connection at once: one whose answer leaves and one that is being read. Each may hold
 * `MAX_READ_FILE_BYTES`, or a descriptor, for as long as the client takes to read it; further ones wait.
 */
export const MAX_LARGE_READS = 2;
/** From here on a read is large. */
export const LARGE_READ_BYTES = 1 * MIB;

// ---------------------------------------------------------------- how the work is cut

/**
 * Work done before the event loop gets its turn: others wait this long at most, and a turn costs a tenth of it. One
 * limit for all requests together, because one slice runs per turn.
 */
export const SLICE_MS = 0.5;

/**
 * Calls on the runtime's pool at once. The pool has some 32 threads, one of which carries the readiness of every
 * descriptor; a device that does not answer must never take them all.
 */
export const MAX_BLOCKING_CALLS = 8;

/**
 * Content handed over at a time. A multiple of 3, so that each piece can be encoded to base64 by itself, and a mebibyte
 * when it is.
 */
export const PIECE_BYTES = 768 * KIB;

/**
 * Content read at a time while it leaves: what is read, its text and the message it goes into stay near the processor.
 * A multiple of 3.
 */
export const STREAMED_PIECE_BYTES = 96 * KIB;

/**
 * Whether a large file is in memory is asked at this distance, and what is missing is read in such pieces: files get
 * there, and leave, in stretches of about this length.
 */
export const RESIDENCY_STEP_BYTES = 256 * KIB;

/** Up to here a file that cannot tell whether its bytes are in memory is read on the event loop: 10 to 20 microseconds. */
export const SMALL_READ_BYTES = 64 * KIB;

/** Up to here content is written on the event loop: into the page cache, 20 to 40 microseconds. */
export const SMALL_WRITE_BYTES = 64 * KIB;

/** Content written by one call on the pool. */
export const WRITE_CHUNK_BYTES = 8 * MIB;

/** Content copied by one call on the pool: between two of them a copy can be given up. */
export const COPY_CHUNK_BYTES = 32 * MIB;
/** Directory records read by one call: some 1000 names. */
export const RECORDS_BYTES = 32 * KIB;

/** Descriptors a recursive operation keeps open per tree; deeper levels reopen their ancestors. */
export const MAX_OPEN_LEVELS = 32;

/** How long a conditional write waits for another server's conditional write of the same file, which takes milliseconds. */
export const LOCK_TIMEOUT_MS = 5_000;
export const LOCK_RETRY_MS = 5;
