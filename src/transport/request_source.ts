/**
 * The requests of another program's `Deno.serve`, as a `LinkSource`.
 *
 * The rules at the door are `upgrade.ts`, as for our own listener. Two things are not known here. Where the program
 * listens is not known, so peers on this machine must follow the Host rule. Which user connects is not known, so
 * without an authenticator every user of this machine is let in.
 *
 * It is not small, because the runtime's websocket keeps few of the promises of a `Link`.
 * `websocket/runtime_socket_link.ts` adds them: messages one at a time, a bound of what waits, waiting for output to
 * leave, reasons of ends. `upgrades_under_way.ts` counts websockets that were let in and are not open yet, because the
 * runtime does not always say when one has failed. `runtime_requests.ts` turns requests and responses into ours, so
 * that the rules are the same.
 */

import type { Clock } from "../clock.ts";
import type { Logger } from "../log.ts";
import { sharedPacer } from "../os/loop/pacer.ts";
import type { Link } from "../rpc/link.ts";
import type { Authenticator } from "./door/auth.ts";
import { connectionLimits } from "./door/connection_limits.ts";
import { httpResponse } from "./door/http_response.ts";
import { type LinkSource, serveAdmitted, type ServeLink } from "./link_source.ts";
import { RefusalLog } from "./door/refusal_log.ts";
import { describePeer, headOf, isOnThisMachine, responseOf } from "./runtime_requests.ts";
import { RuntimeSocketLink } from "./websocket/runtime_socket_link.ts";
import { type AcceptedUpgrade, decideUpgrade } from "./door/upgrade.ts";
import { UpgradesUnderWay } from "./upgrades_under_way.ts";

export interface RequestSourceOptions {
  /** Below which path websockets are accepted; `/readyz` and `/healthz` are below it too. Without a trailing slash. */
  basePath: string;
  /** Null lets everybody in. */
  authenticator: Authenticator | null;
  /** Web pages of these origins may connect, if there is an authenticator. Default: none. */
  allowedOrigins?: readonly string[];
  clock: Clock;
  log: Logger;
  /**
   * How many connections there may be, including those that are not open yet. Default: as many as a listener serves.
   */
  maxLinks?: number;
}

/** What `Deno.serve` gives a handler besides the request. */
export type RequestInfo = Pick<Deno.ServeHandlerInfo, "remoteAddr">;

export class RequestSource implements LinkSource {
  readonly url: string;
  readonly #options: RequestSourceOptions;
  readonly #refusals: RefusalLog;
  readonly #links = new Set<Link>();
  readonly #lives = new Set<Promise<void>>();
  readonly #upgrades: UpgradesUnderWay;
  readonly #maxLinks: number;
  readonly #finished = Promise.withResolvers<void>();
  #onLink: ServeLink | null = null;
  #nextId = 1;

  constructor(options: RequestSourceOptions) {
    this.#options = options;
    this.#upgrades = new UpgradesUnderWay(options.clock);
    this.#maxLinks = options.maxLinks ?? connectionLimits().served;
    this.url = `Deno.serve:${options.basePath}/`;
    this.#refusals = new RefusalLog(options);
  }

  run(onLink: ServeLink): Promise<void> {
    this.#onLink = onLink;
    return this.#finished.promise;
  }

  close(): void {
    this.#onLink = null;
    this.#finished.resolve();
  }

  async dropAll(): Promise<void> {
    this.#upgrades.giveUpAll();
    for (const link of this.#links) link.close();
    await Promise.all(this.#lives);
    this.#refusals.close();
  }

  async handle(request: Request, info: RequestInfo | null): Promise<Response> {
    const remote = info === null ? "unknown" : describePeer(info.remoteAddr);
    const head = headOf(request, this.#options.basePath);
    const answer = head === null ? httpResponse(404) : await decideUpgrade(head, {
      authenticator: this.#options.authenticator,
      allowedOrigins: this.#options.allowedOrigins ?? [],
      isLoopbackListener: info === null || isOnThisMachine(info.remoteAddr),
    });
    if (answer.type === "response") {
      if (answer.status === 401 || answer.status === 403) {
        this.#refusals.add({ remote, status: answer.status, reason: answer.reason ?? answer.body ?? "" });
      }
      return responseOf(answer);
    }
    const { admission, requestId, protocol } = answer;
    const obstacle = this.#onLink === null
      ? "the server is shutting down"
      : this.#links.size + this.#upgrades.size >= this.#maxLinks
      ? "too many connections"
      : null;
    if (obstacle !== null) {
      admission?.release();
      return responseOf(httpResponse(503, obstacle));
    }
    const release = () => admission?.release();
    try {
      const { socket, response } = Deno.upgradeWebSocket(request, protocol === undefined ? {} : { protocol });
      if (requestId !== null) response.headers.set("x-request-id", requestId);
      const link = new RuntimeSocketLink(socket, { clock: this.#options.clock, turn: () => sharedPacer().turn() });
      const opened = () => this.#begin(link, { id: this.#nextId++, remote, requestId }, admission);
      const givenUp = () => {
        release();
        // It may still open, but is not counted any more.
        socket.onopen = () => link.close();
      };
      this.#upgrades.add(socket, { opened, givenUp });
      return response;
    } catch (error) {
      release();
      throw error;
    }
  }

  #begin(link: Link, peer: Parameters<ServeLink>[1], admission: AcceptedUpgrade["admission"]): void {
    const onLink = this.#onLink;
    if (onLink === null) {
      admission?.release();
      return link.close();
    }
    this.#links.add(link);
    const life = serveAdmitted(link, peer, { admission, onLink })
      .catch((error) => this.#options.log.warn("connection failed", { error: String(error) }))
      .finally(() => {
        this.#links.delete(link);
        this.#lives.delete(life);
      });
    this.#lives.add(life);
  }
}
