/**
 * A rendezvous as a source of links: the executor registers, dials out, and serves the clients that come through it.
 * This file has what both forms share: the registry, waiting, the log, and the end.
 *
 * Promises: a failure that may pass is tried again for any time; a final failure ends the source, and `failure` says
 * why. When the rendezvous is lost, links end as with a lost socket, and sessions wait for their clients. No credential
 * reaches the log.
 */

import { type Clock, systemClock } from "../../clock.ts";
import { messageOf } from "../../errors.ts";
import { Dialer } from "../../http/dialer.ts";
import { type Logger, silentLogger } from "../../log.ts";
import { sharedPacer } from "../../os/loop/pacer.ts";
import type { Link } from "../../rpc/link.ts";
import type { LinkSource, Peer, ServeLink } from "../../transport/link_source.ts";
import type { WebSocketOptions } from "../../transport/websocket/websocket_endpoint.ts";
import { type DialedWebSocket, dialWebSocket } from "../dial/dial_websocket.ts";
import { type Credential, RegistryClient } from "../registry/registry_client.ts";
import { RegistryError } from "../registry/registry_error.ts";
import { registryAddress } from "../registry/registry_url.ts";
import type { RegistryKind } from "../registry/registry_error.ts";
import { Backoff } from "./backoff.ts";
import { StateLog } from "./state_log.ts";

export interface RemoteSourceOptions {
  /** The registry's base URL. */
  readonly url: string;
  readonly id: string;
  readonly credential: Credential;
  /** The environment, for proxies and certificates. */
  readonly env: Readonly<Record<string, string>>;
  /** Whether tokens and plain JSON-RPC may be sent in clear text beyond this machine. */
  readonly isInsecureAccepted?: boolean;
  readonly clock?: Clock;
  readonly log?: Logger;
  readonly pingIntervalMs?: number;
}

/** The reference's: a ping every 30 s, and the websocket is dropped when nothing has come for 60 s. */
const PING_INTERVAL_MS = 30_000;
const MAX_SILENT_PINGS = 2;

/** For the connection, TLS and the upgrade together; the reference's. */
const DIAL_TIMEOUT_MS = 10_000;

/** A websocket that lasts this long counts as a success, even if no client came: the next wait is short again. */
const STABLE_MS = 5_000;

export abstract class RemoteSource implements LinkSource {
  readonly url: string;
  readonly isOutbound = true;
  protected readonly registry: RegistryClient;
  protected readonly id: string;
  protected readonly clock: Clock;
  protected readonly log: Logger;
  protected readonly states: StateLog;
  protected onLink: ServeLink | null = null;
  /** Aborted by `close`: waits and dials are given up. */
  protected readonly closing = new AbortController();
  readonly #dialer: Dialer;
  readonly #pingIntervalMs: number;
  readonly #lives = new Set<Promise<void>>();
  #sessions: () => number = () => 0;
  #failure: RegistryError | null = null;
  readonly #failed = Promise.withResolvers<void>();
  #nextId = 1;

  constructor(kind: RegistryKind, options: RemoteSourceOptions) {
    const { isInsecureAccepted = false, credential } = options;
    const address = registryAddress({ kind, url: options.url, id: options.id }, { isInsecureAccepted });
    this.clock = options.clock ?? systemClock;
    this.log = options.log ?? silentLogger();
    this.states = new StateLog(this.log);
    this.id = address.id;
    this.url = `${address.base} as ${kind} ${address.id}`;
    this.#pingIntervalMs = options.pingIntervalMs ?? PING_INTERVAL_MS;
    this.#dialer = new Dialer(options.env, "remote mode");
    const { clock } = this;
    this.registry = new RegistryClient({ address, credential, dialer: this.#dialer, clock, isInsecureAccepted });
  }

  /** Why the source ended, in the reference's words. Null if it was told to. */
  get failure(): RegistryError | null {
    return this.#failure;
  }

  observeSessions(count: () => number): void {
    this.#sessions = count;
  }

  async run(onLink: ServeLink): Promise<void> {
    this.onLink = onLink;
    try {
      await Promise.race([this.serveAll(), this.#failed.promise]);
    } catch (error) {
      if (this.closing.signal.aborted) return;
      if (!(error instanceof RegistryError)) throw error;
      this.#failure = error;
    }
  }

  close(): void {
    this.onLink = null;
    this.closing.abort(new Error("the server is shutting down"));
  }

  async dropAll(): Promise<void> {
    this.dropSockets();
    while (this.#lives.size > 0) await Promise.all(this.#lives);
  }

  /** Ends the source because of a final failure elsewhere, such as in the pipe that brings the credential. */
  fail(error: RegistryError): void {
    this.#failure ??= error;
    this.close();
    this.#failed.resolve();
  }

  /** Serves until `closing`. Throws a final failure. */
  protected abstract serveAll(): Promise<void>;
  protected abstract dropSockets(): void;

  protected dial(url: string, headers: { name: string; value: string }[] = []): Promise<DialedWebSocket> {
    const { clock, closing } = this;
    return dialWebSocket(url, {
      dialer: this.#dialer,
      clock,
      timeoutMs: DIAL_TIMEOUT_MS,
      headers,
      signal: closing.signal,
    });
  }

  protected socketOptions(initialBytes: Uint8Array): WebSocketOptions {
    return {
      clock: this.clock,
      role: "client",
      pingIntervalMs: this.#pingIntervalMs,
      maxSilentPings: MAX_SILENT_PINGS,
      initialBytes,
      turn: () => sharedPacer().turn(),
    };
  }

  /** Lets the server serve a link. The source waits for its end before it ends itself. */
  protected serve(link: Link, peer: Omit<Peer, "id">): Promise<void> {
    if (this.onLink === null) {
      link.close({ cause: "done", reason: "the server is shutting down" });
      return Promise.resolve();
    }
    const life = this.onLink(link, { ...peer, id: this.#nextId++ })
      .catch((error) => this.log.warn("connection failed", { error: String(error) }))
      .finally(() => this.#lives.delete(life));
    this.#lives.add(life);
    return life;
  }

  /** For one series of attempts. */
  protected newBackoff(): Backoff {
    return new Backoff({ hasSessions: () => this.#sessions() > 0 });
  }

  /** A websocket is open: it counts as a success once it has lasted. Cancel it when the websocket ends. */
  protected countSuccess(backoff: Backoff): () => void {
    return this.clock.setTimer(STABLE_MS, () => backoff.reset());
  }

  /** An attempt has failed with this. Throws it if it is final. */
  protected noteFailure(error: unknown): void {
    if (this.closing.signal.aborted) throw error;
    if (error instanceof RegistryError && error.isFinal) throw error;
    this.states.failing(messageOf(error));
  }

  /** Waits before the next attempt, unless told to stop. */
  protected async pause(backoff: Backoff): Promise<void> {
    const { signal } = this.closing;
    if (signal.aborted) return;
    await new Promise<void>((resolve) => {
      const cancel = this.clock.setTimer(backoff.next(), done);
      function done(): void {
        signal.removeEventListener("abort", done);
        cancel();
        resolve();
      }
      signal.addEventListener("abort", done);
    });
  }
}
