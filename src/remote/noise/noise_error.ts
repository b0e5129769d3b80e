/** The peer's side of the channel is not what it has to be. The message is for the log: the peer is told nothing but that. */
export class NoiseError extends Error {
  override readonly name = "NoiseError";
}
