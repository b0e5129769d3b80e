/** What makes connections private, as the listener sees it. The one there is, TLS, is loaded only where it is asked for. */

import type { AcceptedStream } from "./stream_source.ts";

export interface SecureLayer {
  /**
   * Shakes hands on a connection. What comes back owns the stream. Rejects when the peer does not complete its part; the
   * stream is then the caller's to close, as it is when the caller loses patience.
   */
  open(stream: AcceptedStream): Promise<AcceptedStream>;
}
