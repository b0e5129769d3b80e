/** What encrypts connections, as the listener sees it. TLS, the only one, is loaded only where it is asked for. */

import type { AcceptedStream } from "../listen/stream_source.ts";

export interface SecureLayer {
  /**
   * Does the handshake on a connection. The result owns the stream. Rejects when the peer does not complete its part; the
   * stream is then the caller's to close, as it is when the caller loses patience.
   */
  open(stream: AcceptedStream): Promise<AcceptedStream>;
}
