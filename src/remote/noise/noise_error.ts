/** The peer has broken the rules of the channel. The message is only for the log: the peer is not told the reason. */
export class NoiseError extends Error {
  override readonly name = "NoiseError";
}
