/** Bounds of the relay's framing. Where the reference has one, ours is the same. */

const KIB = 1024;

/** One websocket message. A longer one ends the websocket, at the reference's executor too. */
export const MAX_RELAY_MESSAGE_BYTES = 256 * KIB;

/** The harness sends a UUID, 36 bytes. Any text is a stream id, but it is kept per stream and sent in every frame. */
export const MAX_STREAM_ID_BYTES = 256;

/** Why a stream was reset: a few words. Longer reasons are cut when written, and refused when read. */
export const MAX_RESET_REASON_BYTES = 1 * KIB;

/** Streams of one websocket. The next one is reset. */
export const MAX_STREAMS = 128;
