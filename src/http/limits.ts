/** Every bound of the HTTP layer, with its reason. */

const KIB = 1024;
const MIB = 1024 * KIB;

/**
 * Body of a response that is answered whole. As base64 it is 43 MiB, which leaves a third of the largest message for
 * headers and for whatever a peer on the way adds. More has to be streamed, which has no limit.
 */
export const MAX_BUFFERED_BODY_BYTES = 32 * MIB;

/**
 * Bodies of one connection that are being gathered, or wait for the client to read earlier answers: the largest one and
 * some more. A body of known length waits for room; one of unknown length is refused.
 */
export const MAX_BUFFERED_BYTES_PER_CONNECTION = MAX_BUFFERED_BODY_BYTES + 8 * MIB;

/** The same for all connections together. Beyond it each may have its short bodies, or one at a time. */
export const MAX_BUFFERED_BYTES_OF_ALL = 3 * MAX_BUFFERED_BYTES_PER_CONNECTION;

/** This much of a body is not counted: nearly all are shorter, and all of a connection's together are 8 MiB. */
export const SHORT_BODY_BYTES = 64 * KIB;

/** Characters of a URL. Servers refuse requests with a tenth of it; every error about the request repeats it. */
export const MAX_URL_LENGTH = 64 * KIB;

/**
 * Characters of method and headers of one request. Servers refuse requests with a tenth of it. They are checked, joined
 * and encoded in one go, which takes milliseconds.
 */
export const MAX_REQUEST_HEAD_CHARACTERS = 1 * MIB;

/** How long one body is read before others get a turn. */
export const READING_MS = 1;

/**
 * Requests of one connection under way at once, streams included: each holds a descriptor and a read buffer. An agent
 * has one or two per tool server.
 */
export const MAX_REQUESTS_PER_CONNECTION = 128;

/**
 * Bytes taken from a socket at once, and so the most in one delta: what a fast peer has sent by the next look, and far
 * below the megabyte that a delta may have.
 */
export const READ_BYTES = 128 * KIB;

/** Status line and headers of a response. Servers refuse requests with a tenth of it. */
export const MAX_RESPONSE_HEAD_BYTES = 256 * KIB;

/**
 * Headers of a response. In memory each takes a hundred bytes and more, however short it is, and some time to read: a
 * head of 64000 would take several megabytes and a tenth of a second. The reference's HTTP library takes a hundred.
 */
export const MAX_RESPONSE_HEADERS = 1024;

/** The line before a chunk: sixteen hex digits, and extensions nobody uses. */
export const MAX_CHUNK_LINE_BYTES = 4 * KIB;

/** Beyond this a head is parsed, and encoded, in turns of their own: the longest takes 2 ms. */
export const LONG_HEAD_BYTES = 16 * KIB;

/** Informational responses before the real one. Usually there is none, sometimes one. */
export const MAX_INFORMATIONAL_RESPONSES = 16;

/** Redirects followed for one request; the reference's figure. */
export const MAX_REDIRECTS = 10;
