/**
 * The transport to a place, for the client library and for `dial`. Plain sockets, the usual way, are always loaded.
 * Every other kind is loaded only if it is needed.
 *
 * The user's own server is started if it does not run. Opening a link starts nothing else on this machine.
 */

import type { OpenOptions, Transport, TransportLink } from "../../../client/link/transport.ts";
import { abortedBy, ConnectionRefusedError } from "../../../client/errors.ts";
import type { Environment } from "../../flags.ts";
import type { Place } from "./place.ts";
import { PlainSocketTransport } from "./plain_socket_transport.ts";
import { ownSocketPath } from "./state_directory.ts";

export async function transportOf(place: Place, env: Environment): Promise<Transport> {
  switch (place.kind) {
    case "own": {
      return new OwnServerTransport(PlainSocketTransport.toUnixSocket(ownSocketPath(env)), env);
    }
    case "unix":
      return PlainSocketTransport.toUnixSocket(place.path);
    case "websocket": {
      const url = new URL(place.url);
      const plain = PlainSocketTransport.toUrl(url);
      if (plain !== null) return plain;
      const { WebSocketTransport } = await import("../../../client/link/web_socket_transport.ts");
      return new WebSocketTransport(url, {});
    }
    case "ssh": {
      const { SshTransport } = await import("./ssh_transport.ts");
      return new SshTransport(place);
    }
    case "rendezvous": {
      const { RendezvousTransport } = await import("../../../client/link/rendezvous_transport.ts");
      const { knownExecutors } = await import("./known_executors.ts");
      const { harnessNetwork } = await import("../../../remote/dial/harness_network.ts");
      const address = { rendezvous: place.url, executor: place.executor, pins: knownExecutors(env) };
      return new RendezvousTransport(address, { network: harnessNetwork(env) });
    }
  }
}

/** The first link starts the server if necessary. Later links do not: a server that is gone has lost the session. */
class OwnServerTransport implements Transport {
  readonly name = "your own server";
  readonly canReconnect = true;
  readonly #socket: Transport;
  readonly #env: Environment;
  #wasOpen = false;

  constructor(socket: Transport, env: Environment) {
    this.#socket = socket;
    this.#env = env;
  }

  async open(options: OpenOptions): Promise<TransportLink> {
    try {
      const link = await this.#socket.open(options);
      this.#wasOpen = true;
      return link;
    } catch (error) {
      if (this.#wasOpen || !(error instanceof ConnectionRefusedError)) throw error;
    }
    const { ensureOwnServer } = await import("./own_server.ts");
    const { signal } = options;
    const { promise: aborted, reject } = Promise.withResolvers<never>();
    const abort = () => reject(abortedBy(signal, "cannot start your own server"));
    signal.addEventListener("abort", abort, { once: true });
    try {
      await Promise.race([ensureOwnServer(this.#env), aborted]);
    } finally {
      signal.removeEventListener("abort", abort);
    }
    const link = await this.#socket.open(options);
    this.#wasOpen = true;
    return link;
  }
}
