/**
 * The interface by which the listener encrypts connections. TLS is the only implementation, and loaded only if it is
 * needed.
 */

import type { AcceptedStream } from "../listen/stream_source.ts";

export interface SecureLayer {
  /**
   * Does the handshake on a connection. The result owns the stream. Rejects if the peer does not complete its part.
   * Then the caller closes the stream, as it does when the handshake takes too long.
   */
  open(stream: AcceptedStream): Promise<AcceptedStream>;
}
