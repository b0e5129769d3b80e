/** What a socket must offer. `Deno.Conn` does. */
export interface ByteStream {
  read(into: Uint8Array): Promise<number | null>;
  write(bytes: Uint8Array): Promise<number>;
  /** Bytes taken without waiting, possibly none. A failure shows at the next `write`. */
  writeNow?(bytes: Uint8Array): number;
  /** Bytes sent that have not reached the peer's machine, where that can be known. */
  unacknowledgedBytes?(): number;
  /** Bytes that have come from the peer in all, also those that nobody has read, where that can be known. */
  arrivedBytes?(): number | undefined;
  /** How many bytes were sent in all, if that differs from those written: encryption adds some. */
  sentBytes?(): number | undefined;
  /** Acknowledges at once what has arrived. The kernel alone would wait for data to send with the acknowledgement. */
  confirmArrival?(): void;
  closeWrite(): Promise<void>;
  close(): void;
}
