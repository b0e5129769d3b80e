/**
 * The way to an executor that cannot be reached from outside: through a rendezvous, encrypted from end to end. Its code
 * is loaded only when such an address is given.
 *
 * The executor's key is given, or remembered at the first connection. Another key is refused later, whatever the
 * rendezvous says.
 */

import { messageOf } from "../../errors.ts";
import type { HarnessNetwork } from "../../remote/harness/harness.ts";
import type { Link } from "../../rpc/link.ts";
import { abortedBy, ConnectionRefusedError, UnauthorisedError } from "../errors.ts";
import type { OpenOptions, Transport } from "./transport.ts";
import type { WebSocketConstructor } from "./web_socket_transport.ts";

/**
 * Remembers the keys of executors.
 *
 * ```ts
 * const seen = new Map<string, string>();
 * const pins: PinStore = {
 *   get: (name) => Promise.resolve(seen.get(name) ?? null),
 *   set: (name, fingerprint) => Promise.resolve(void seen.set(name, fingerprint)),
 * };
 * ```
 */
export interface PinStore {
  /** The fingerprint known for a name; null: never seen. */
  get(name: string): Promise<string | null>;
  /** Remembers a fingerprint, after the executor has proven that it has the key. */
  set(name: string, fingerprint: string): Promise<void>;
}

/**
 * An executor behind a rendezvous.
 *
 * ```ts
 * const address: RendezvousAddress = { rendezvous: "https://meet.example.com", executor: "box-1" };
 * await using far = await connect(address, { token: "…" });
 * ```
 */
export interface RendezvousAddress {
  /** The base URL of the rendezvous: `https://HOST`. */
  readonly rendezvous: string;
  /** The id under which the executor has registered. */
  readonly executor: string;
  /**
   * Where the executor's key is remembered, for example `filePins(path)`. Without it the key is remembered only while
   * this client lives, so the first connection trusts the rendezvous.
   */
  readonly pins?: PinStore | undefined;
  /**
   * The key's fingerprint, as `exec-server doctor` shows it on the devbox. With it the rendezvous need not be trusted,
   * and nothing is remembered.
   */
  readonly fingerprint?: string | undefined;
}

/** Replacements for what the runtime has. */
export interface RendezvousTransportOptions {
  /** In place of the runtime's websocket. */
  readonly WebSocket?: WebSocketConstructor | undefined;
  /** In place of both its websocket and its requests. */
  readonly network?: HarnessNetwork | undefined;
}

/** See the head of the module. */
export class RendezvousTransport implements Transport {
  readonly name: string;
  readonly canReconnect = true;
  readonly #address: RendezvousAddress;
  readonly #options: RendezvousTransportOptions;
  #pins: PinStore | null;

  /** The address as the user gave it. */
  constructor(address: RendezvousAddress, options: RendezvousTransportOptions = {}) {
    this.#address = address;
    this.#options = options;
    this.#pins = address.fingerprint === undefined ? address.pins ?? null : onlyPin(address.fingerprint);
    this.name = `${address.rendezvous} executor ${address.executor}`;
  }

  /** See {@linkcode Transport.open}. */
  async open({ token, signal }: OpenOptions): Promise<Link> {
    const attempted = `cannot connect to ${this.name}`;
    if (token === null) throw new UnauthorisedError(`${attempted}: a rendezvous asks for a token`);
    const { openRendezvousLink, RendezvousError } = await import("../../remote/harness/harness.ts");
    const { ExecutorKeyChanged, memoryPins } = await import("../../remote/harness/pins.ts");
    const pins = this.#pins ??= memoryPins();
    const { rendezvous, executor } = this.#address;
    try {
      const { WebSocket, network } = this.#options;
      return await openRendezvousLink({
        ...{ rendezvous, executor, token, pins, signal, network },
        WebSocket: WebSocket as never,
      });
    } catch (error) {
      if (signal.aborted) throw abortedBy(signal, attempted);
      const message = `${attempted}: ${messageOf(error)}`;
      // These do not go away by trying again.
      const isFinal = error instanceof ExecutorKeyChanged ||
        (error instanceof RendezvousError && (error.status === 401 || error.status === 403));
      throw isFinal
        ? new UnauthorisedError(message, { cause: error })
        : new ConnectionRefusedError(message, { cause: error });
    }
  }
}

/** Has only this key, for every name. */
function onlyPin(fingerprint: string): PinStore {
  return { get: () => Promise.resolve(fingerprint.trim()), set: () => Promise.resolve() };
}
