/**
 * Registry and rendezvous together: a door whose rules are the routes, and their state.
 *
 * Checks requests (no browsers, rate, token), passes them to `registry_http.ts` or `websockets.ts`, and ends
 * everything. Relayed data is never encrypted or decrypted here.
 */

import type { Clock } from "../../clock.ts";
import type { Logger } from "../../log.ts";
import { bearerToken } from "../../transport/door/auth.ts";
import { Door } from "../../transport/door/door.ts";
import { type HttpResponse, httpResponse } from "../../transport/door/http_response.ts";
import { parseIpAddress } from "../../transport/listen/ip_address.ts";
import type { ListenerAddress } from "../../transport/listen/listen_bind.ts";
import { withoutPort } from "../../transport/door/refusal_log.ts";
import type { SecureLayer } from "../../transport/tls/secure_layer.ts";
import type { Admissions } from "../../transport/tokens/admissions.ts";
import type { TokenEntry } from "../../transport/tokens/token_file.ts";
import type { Wish } from "../../transport/tokens/token_table.ts";
import { jsonAnswer, problem } from "./answers.ts";
import type { Caller, Request } from "./caller.ts";
import { ConnectionCounts } from "./connection_counts.ts";
import { MAX_BODY_BYTES, type RendezvousLimits } from "./limits.ts";
import { Registry } from "./registry.ts";
import { RegistryHttp } from "./registry_http.ts";
import { RequestPacer } from "./request_pacer.ts";
import { type Route, routeOf } from "./routes.ts";
import { TicketOffice } from "./tickets.ts";
import { type RendezvousUpgrade, Websockets } from "./websockets.ts";

export interface RendezvousOptions {
  readonly address: ListenerAddress;
  /** Descriptors of listening sockets that the service manager has handed over. Empty: the address is bound. */
  readonly inherited?: readonly number[];
  /** Null: connections are not encrypted, or a proxy in front has TLS. */
  readonly tls: SecureLayer | null;
  readonly admissions: Admissions;
  /**
   * Where executors and harnesses reach this, as `ws:` or `wss:` without a slash at its end. Null: the address that
   * they used.
   */
  readonly publicUrl: string | null;
  /** Whether a proxy in front names the client in `X-Forwarded-For`. */
  readonly isBehindProxy: boolean;
  readonly limits: RendezvousLimits;
  /** Called for every request. */
  readonly onActivity?: () => void;
  readonly clock: Clock;
  readonly log: Logger;
}

export class Rendezvous {
  readonly #options: RendezvousOptions;
  readonly #door: Door<null, RendezvousUpgrade>;
  readonly #registry: Registry;
  readonly #http: RegistryHttp;
  readonly #websockets: Websockets;
  readonly #pacer: RequestPacer;
  readonly #running: Promise<void>;

  private constructor(options: RendezvousOptions, door: Door<null, RendezvousUpgrade>, office: TicketOffice) {
    const { limits, clock } = options;
    this.#options = options;
    this.#door = door;
    this.#registry = new Registry(clock);
    this.#pacer = new RequestPacer(clock, limits.requestsPerSecond);
    const counts = new ConnectionCounts({
      perToken: limits.connectionsPerToken,
      perAddress: limits.connectionsPerAddress,
    });
    const shared = { ...options, registry: this.#registry, office };
    this.#http = new RegistryHttp(shared, (request) => this.#publicUrl(request));
    this.#websockets = new Websockets({ ...shared, counts });
    this.#running = door.run({
      inspect: () => null,
      answer: (request) => this.#answer(request),
      serve: ({ stream, upgrade, initialBytes }) => upgrade.serve(stream, initialBytes),
      abandon: (upgrade) => upgrade.abandon(),
    });
  }

  /** Listens. Rejects with a `ListenError` if the address cannot be used. */
  static async open(options: RendezvousOptions): Promise<Rendezvous> {
    const office = await TicketOffice.open();
    const { address, inherited = [], clock, log, tls, limits } = options;
    const door = await Door.open<null, RendezvousUpgrade>({
      address,
      inherited,
      clock,
      log,
      tls,
      maxBodyBytes: MAX_BODY_BYTES,
      limits: limits.connections,
    });
    return new Rendezvous(options, door, office);
  }

  get url(): string {
    return this.#door.url;
  }

  /** Accepts nobody any more, drops all connections, and resolves when they have ended. */
  async shutDown(): Promise<void> {
    this.#door.close();
    this.#registry.close("the rendezvous is shutting down");
    await this.#door.dropAll();
    await this.#running;
  }

  async #answer(request: Request): Promise<HttpResponse | RendezvousUpgrade> {
    const { head } = request;
    this.#options.onActivity?.();
    const route = routeOf(head.method, head.path);
    if (route.type === "health") return httpResponse(200);
    // A page's request always has an Origin header. Our clients are not pages.
    if (head.headers.has("origin")) return problem(403, "forbidden", "web pages may not connect");
    const address = this.#addressOf(request);
    const delayMs = this.#pacer.delayMs(address);
    if (delayMs === null) return problem(429, "too_many_requests", "this address asks too often");
    if (delayMs > 0) await new Promise<void>((resolve) => this.#options.clock.setTimer(delayMs, resolve));
    return await this.#dispatch(route, request, address);
  }

  async #dispatch(route: Route, request: Request, address: string): Promise<HttpResponse | RendezvousUpgrade> {
    switch (route.type) {
      case "register":
      case "validate":
        return await this.#asCaller(request, { role: "executor", id: route.id }, address, (caller) => {
          return route.type === "register"
            ? this.#http.register(route, request, caller)
            : this.#http.validate(route.id, request);
        });
      case "connect":
        return await this.#asCaller(request, { role: "client", id: route.id }, address, (caller) => {
          return this.#http.connect(route.id, request, caller);
        });
      case "clientSocket":
        return await this.#asCaller(request, { role: "client", id: route.id }, address, (caller) => {
          return this.#websockets.client(route.id, request, caller);
        });
      case "executorSocket":
        return await this.#websockets.executor(route.id, request, address);
      case "harnessSocket":
        return await this.#websockets.harness(route.id, request, address);
      case "list":
        return await this.#list(request);
      case "wrongMethod":
        return problem(405, "method_not_allowed", `use ${route.allow}`, { allow: route.allow });
      case "notImplemented":
        return problem(501, "not_implemented", route.reason);
      case "notFound":
      case "health":
        return problem(404, "not_found", route.type === "notFound" ? route.reason : "");
    }
  }

  /** All executors that the caller's token is for. */
  async #list(request: Request): Promise<HttpResponse> {
    const { admissions } = this.#options;
    const wishes = (id: string | null): Wish[] => [{ role: "viewer", id }, { role: "client", id }];
    const judgement = await this.#judge(request, wishes(null));
    if ("status" in judgement) return judgement;
    const executors = this.#registry.list((id) => wishes(id).some((wish) => admissions.holds(judgement, wish)));
    return jsonAnswer({ executors });
  }

  /** Carries out the request if the caller's token allows it, and refuses it otherwise. */
  async #asCaller<Answer>(
    request: Request,
    wish: Wish,
    address: string,
    act: (caller: Caller) => Promise<Answer>,
  ): Promise<Answer | HttpResponse> {
    const judgement = await this.#judge(request, [wish]);
    return "status" in judgement ? judgement : await act({ entry: judgement, address });
  }

  /** The entry of the caller's token if it allows one of these; otherwise the refusal. */
  async #judge(request: Request, wishes: readonly Wish[]): Promise<TokenEntry | HttpResponse> {
    const values = request.head.headers.get("authorization") ?? [];
    const token = values.length === 1 ? bearerToken(values[0]!) : null;
    if (token === null) {
      const what = values.length === 0
        ? "the Authorization header is missing"
        : "the Authorization header holds no token";
      return problem(401, "unauthorized", what, { "www-authenticate": "Bearer" });
    }
    let refusal = "";
    for (const wish of wishes) {
      const judgement = await this.#options.admissions.judge(token, wish);
      if (judgement.type === "granted") return judgement.entry;
      if (judgement.type !== "foreign") {
        return problem(401, "unauthorized", judgement.reason, { "www-authenticate": "Bearer" });
      }
      refusal = judgement.reason;
    }
    return problem(403, "forbidden", refusal);
  }

  /**
   * Who connects: the peer, or the client that the proxy in front names. The last of several names is the proxy's own
   * addition.
   */
  #addressOf({ head, remote }: Request): string {
    const peer = withoutPort(remote);
    if (!this.#options.isBehindProxy) return peer;
    const last = (head.headers.get("x-forwarded-for") ?? []).join(",").split(",").at(-1)!.trim();
    return parseIpAddress(last) === null ? peer : last;
  }

  /** Where the peer shall open its websocket: at the address it has used, unless the operator has named another. */
  #publicUrl({ head }: Request): string {
    const { publicUrl, tls } = this.#options;
    if (publicUrl !== null) return publicUrl;
    const host = head.headers.get("host")?.[0] ?? "";
    return host === "" ? this.#door.url : `${tls === null ? "ws" : "wss"}://${host}`;
  }
}
