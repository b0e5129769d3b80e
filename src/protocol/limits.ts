/**
 * Every bound of the wire and of one connection, with the reason for its size. Bounds of the process and
 * filesystem layers stand beside their owners.
 */

const KIB = 1024;
const MIB = 1024 * KIB;

/** JSON values in one message; the reference's limit. A message of this many values parses in a few milliseconds. */
export const MAX_JSON_VALUES = 262_144;

/** Nested arrays and objects, the outermost counted; the reference's limit. */
export const MAX_JSON_DEPTH = 127;

/** Payload of one websocket frame; the reference's limit. The largest block (1 MiB, base64) needs a tenth of it. */
export const MAX_FRAME_BYTES = 16 * MIB;

/** One message, joined from its fragments, and one line on stdio; the reference's limit. */
export const MAX_MESSAGE_BYTES = 64 * MIB;

/**
 * Requests of one connection that have been read and not been answered. Long polls count separately. When it is
 * reached nothing more is read from that peer until answers have left, which is how TCP tells it to slow down. Ten
 * times the largest burst a client is known to send.
 */
export const MAX_REQUESTS_IN_FLIGHT = 4096;

/** Bytes of those requests: four of the largest frames, or two seconds of stdin for a child that reads slowly. */
export const MAX_REQUEST_BYTES_IN_FLIGHT = 64 * MIB;

/**
 * Long polls (`process/read` with a wait, `process/wait`, `http/request`) open at once on one connection. One more is
 * refused instead of pausing the connection: a pause would let forgotten polls block `process/terminate`.
 */
export const MAX_WAITING_REQUESTS = 1024;

/**
 * Process output queued for a peer before its sources are paused. Large enough that a fast peer never waits for the
 * event loop (600 MB/s needs about 100 KiB per wake), small enough that a reply behind it waits a millisecond.
 */
export const OUTPUT_HIGH_WATER_BYTES = 512 * KIB;

/** Sources resume below this: half, so that pausing and resuming does not happen for every chunk. */
export const OUTPUT_LOW_WATER_BYTES = OUTPUT_HIGH_WATER_BYTES / 2;

/**
 * Answers queued for a peer that does not read them before its requests are no longer read either. Answers are never
 * refused or dropped, so this is a mark and not a cap: it can be passed by what is in flight already.
 */
export const REPLY_HIGH_WATER_BYTES = 16 * MIB;

/** Messages handed to the socket at once: enough to fill the kernel's buffer in one call, not more. */
export const SEND_BATCH_BYTES = 256 * KIB;

/** Connections of one listener: more than any devbox needs, few enough that their descriptors leave room for children. */
export const MAX_CONNECTIONS = 1024;
