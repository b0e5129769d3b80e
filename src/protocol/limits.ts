/**
 * Every bound of the wire and of one connection, with the reason for its size. Bounds of the process and filesystem
 * layers are in their folders.
 */

const KIB = 1024;
const MIB = 1024 * KIB;

/** JSON values in one message; the reference's limit. A message of this many values parses in a few milliseconds. */
export const MAX_JSON_VALUES = 262_144;

/** Nested arrays and objects, the outermost counted; the reference's limit. */
export const MAX_JSON_DEPTH = 127;

/** Characters of one number or word in a long text. Any that means something has a few dozen. */
export const MAX_NUMBER_CHARACTERS = 1024;

/** Characters of a request id that is a text. Real ones have 36; the answer repeats it, and so does every log line. */
export const MAX_ID_CHARACTERS = 64 * 1024;

/**
 * Sessions that wait for their clients, whatever time these asked for: as many as connections are served, so that all may
 * be lost at once and come back. A session without processes takes 36 KiB, so 36 MiB in all; what processes take has
 * bounds of its own. Beyond it the session without processes that has waited longest expires, or else the one that has
 * waited longest.
 */
export const MAX_DETACHED_SESSIONS = 1024;

/** What one message may hold. */
export const MESSAGE_LIMITS = {
  maxValues: MAX_JSON_VALUES,
  maxDepth: MAX_JSON_DEPTH,
  maxNumberCharacters: MAX_NUMBER_CHARACTERS,
  maxIdCharacters: MAX_ID_CHARACTERS,
} as const;

/** Later versions may append to the 55 characters of version 00. Anything much longer is not a trace context. */
export const MAX_TRACEPARENT_CHARACTERS = 256;

/** Payload of one websocket frame; the reference's limit. The largest block (1 MiB, base64) needs a tenth of it. */
export const MAX_FRAME_BYTES = 16 * MIB;

/** One message, joined from its fragments, and one line on stdio; the reference's limit. */
export const MAX_MESSAGE_BYTES = 64 * MIB;

/**
 * Requests of one connection that were read and not answered. Long polls count separately. Beyond it the server stops
 * reading from that peer until answers have left, and TCP slows the peer down. Ten times the largest burst a client is
 * known to send.
 */
export const MAX_REQUESTS_IN_FLIGHT = 4096;

/**
 * Bytes of those requests, long polls included: four of the largest frames, or two seconds of stdin for a child that reads
 * slowly.
 */
export const MAX_REQUEST_BYTES_IN_FLIGHT = 64 * MIB;

/**
 * Long polls (`process/read` with a wait, `process/wait`, `http/request`) open at once on one connection. One more is
 * refused instead of pausing the connection, because a pause would let forgotten polls block `process/terminate`.
 */
export const MAX_WAITING_REQUESTS = 1024;

/**
 * Process output queued for a peer before its sources are paused. Large enough that a fast peer never waits for the
 * event loop (600 MB/s needs about 100 KiB per wake-up), small enough that a reply behind it waits only a millisecond.
 */
export const OUTPUT_HIGH_WATER_BYTES = 512 * KIB;

/** Sources resume below this: half, so that pausing and resuming does not happen for every chunk. */
const OUTPUT_LOW_WATER_BYTES = OUTPUT_HIGH_WATER_BYTES / 2;

/**
 * Answers of one connection that are reserved and have not left, where a single one may be long: sixteen blocks, or two
 * directories. Further such requests wait. Only an answer longer than all of it may exceed it, alone.
 */
export const MAX_ANSWER_BYTES = 16 * MIB;

/** The same for all connections together. Beyond it each keeps the next figure, or one answer at a time. */
export const MAX_ANSWER_BYTES_OF_ALL = 64 * MIB;

/** What a connection may always reserve, whatever the others have: enough to keep a socket busy. */
export const ANSWER_FLOOR_BYTES = 1 * MIB;

/**
 * Short answers queued for a peer that does not read them, before the server stops reading its requests. They are never
 * refused or dropped, so requests already in flight can exceed this.
 */
const REPLY_HIGH_WATER_BYTES = 4 * MIB;

/**
 * About the size of one answer to `process/list`; further processes come with the next request. Enough for some ten
 * thousand processes with usual command lines, or 4096 closed ones with 700 characters each.
 */
export const LIST_PAGE_BYTES = 4 * MIB;

/** Lists up to this length are short answers, which do not wait: some 150 processes. */
export const SHORT_LIST_BYTES = 64 * KIB;

/** Messages handed to the socket at once: enough to fill the kernel's buffer in one call, not more. */
const SEND_BATCH_BYTES = 256 * KIB;

/** Processes that one connection is attached to: more than anybody can look at. Each costs a cursor, and no output. */
export const MAX_ATTACHMENTS = 256;

/** What waits on its way to one peer. */
export const OUTBOUND_LIMITS = {
  outputHighWaterBytes: OUTPUT_HIGH_WATER_BYTES,
  outputLowWaterBytes: OUTPUT_LOW_WATER_BYTES,
  replyHighWaterBytes: REPLY_HIGH_WATER_BYTES,
  sendBatchBytes: SEND_BATCH_BYTES,
} as const;

/** Connections of one listener that are served: more than any devbox needs. */
export const MAX_CONNECTIONS = 1024;

/**
 * Connections of one listener that were not let in yet. A client takes milliseconds, so this is many times what comes
 * at once. Each costs a descriptor, a buffer of 16 KiB, and with TLS some 140 KiB more.
 */
export const MAX_WAITING_CONNECTIONS = 256;

/**
 * The part of this program's descriptors that connections may take: with a limit of 1024, 512 that are served and 128
 * that wait. The rest is for the children and files of the served ones.
 */
export const CONNECTIONS_PER_DESCRIPTOR = 1 / 2;
export const WAITING_CONNECTIONS_PER_DESCRIPTOR = 1 / 8;
