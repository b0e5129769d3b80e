/** Every bound of the HTTP layer, with its reason. */

const KIB = 1024;
const MIB = 1024 * KIB;

/**
 * Body of a response that is answered whole. As base64 it is 43 MiB, which leaves a third of the largest message for
 * headers and for whatever a peer on the way adds. More has to be streamed, which has no limit.
 */
export const MAX_BUFFERED_BODY_BYTES = 32 * MIB;

/** Bodies being gathered for one connection at once: two of the largest. */
export const MAX_BUFFERED_BYTES_PER_CONNECTION = 2 * MAX_BUFFERED_BODY_BYTES;

/**
 * Requests of one connection under way at once, streams included: each holds a descriptor and a read buffer. An agent
 * has one or two per tool server.
 */
export const MAX_REQUESTS_PER_CONNECTION = 128;

/**
 * Bytes taken from a socket at once, and so the most one delta carries: what a fast peer has sent by the time we look
 * again, and far below the megabyte that a delta may have.
 */
export const READ_BYTES = 128 * KIB;

/** Status line and headers of a response. Servers refuse requests with a tenth of it. */
export const MAX_HEAD_BYTES = 256 * KIB;

/** The line before a chunk: sixteen hex digits, and extensions nobody uses. */
export const MAX_CHUNK_LINE_BYTES = 4 * KIB;

/** Informational responses before the real one. One is usual, none is the rule. */
export const MAX_INFORMATIONAL_RESPONSES = 16;

/** Redirects followed for one request; the reference's figure. */
export const MAX_REDIRECTS = 10;
