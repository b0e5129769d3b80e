/**
 * A handshake with ourselves, in memory: whether a certificate and key can be used at all. Some kinds of keys can be read
 * but not used, and the runtime reports that only when the first client connects.
 */

import { Duplex } from "node:stream";
import { connect, type SecureContext, TLSSocket } from "node:tls";

/** A handshake takes some milliseconds. This ends one that hangs. */
const TRIAL_TIMEOUT_MS = 5000;

export async function tryHandshake(secureContext: SecureContext): Promise<void> {
  const [ours, theirs] = pipePair();
  const server = new TLSSocket(ours as never, { isServer: true, secureContext });
  // We are both sides, so the certificate need not be checked.
  const client = connect({ socket: theirs as never, rejectUnauthorized: false });
  let timer: ReturnType<typeof setTimeout> | undefined;
  try {
    await new Promise<void>((resolve, reject) => {
      const fail = (reason: string) => reject(new Error(`the certificate and its key cannot be used: ${reason}`));
      timer = setTimeout(() => fail("a handshake with them does not finish"), TRIAL_TIMEOUT_MS);
      for (const socket of [server, client]) socket.on("error", (error: Error) => fail(error.message));
      client.once("secureConnect", resolve);
    });
  } finally {
    clearTimeout(timer);
    for (const stream of [client, server, ours, theirs]) stream.destroy();
  }
}

/** Two duplex streams. Each reads what the other writes. */
function pipePair(): [Duplex, Duplex] {
  const make = (other: () => Duplex) =>
    new Duplex({
      read() {},
      write(chunk, _encoding, done) {
        other().push(chunk);
        done();
      },
    });
  const left: Duplex = make(() => right);
  const right: Duplex = make(() => left);
  return [left, right];
}
