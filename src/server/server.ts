/**
 * The library entry: builds everything, wires it, and runs it until it is told to stop.
 */

import { type Clock, systemClock } from "../clock.ts";
import { environmentInfo, type HostFacts, hostFacts } from "../environment/info.ts";
import { errorFields, type Logger, silentLogger } from "../log.ts";
import { METHODS } from "../protocol/methods.ts";
import type { Link } from "../rpc/link.ts";
import type { ProcessBackend } from "../process/backend.ts";
import { LazyBackend } from "../process/lazy_backend.ts";
import { DEFAULT_RETAINED_OUTPUT_BYTES } from "../process/limits.ts";
import { lazily, MethodTable } from "../rpc/method_table.ts";
import type { Authenticator } from "../transport/auth.ts";
import { Listener, type ListenerAddress, type Peer } from "../transport/listener.ts";
import { StdioLink } from "../transport/stdio_link.ts";
import { type CallContext, Connection } from "./connection.ts";
import { bindEnvironmentMethods } from "./methods/environment.ts";
import { bindFsMethods } from "./methods/bind_fs.ts";
import { bindProcessMethods } from "./methods/process.ts";
import { KeptProcesses } from "./kept_processes.ts";
import type { SandboxSetting } from "../launch/sandbox_probe.ts";
import type { Sandboxing } from "./sandboxing.ts";
import { SessionRegistry } from "./sessions.ts";
import { type ProcessSettings, SessionState } from "./session_state.ts";

export interface ServerOptions {
  listen: ListenerAddress | { readonly type: "stdio" };
  /** Null lets everybody in. */
  authenticator?: Authenticator | null;
  /** Null: results as if in arrival order, with nothing waiting that need not. */
  concurrentRequests?: number | null;
  pingIntervalMs?: number;
  detachedSessionTtlMs?: number;
  processes?: Partial<ProcessSettings>;
  /** What sandboxes are made with. */
  sandbox?: SandboxSetting;
  log?: Logger;
  clock?: Clock;
  host?: HostFacts;
}

export interface RunningServer {
  /** Where clients connect; `stdio` for that transport. */
  readonly url: string;
  /** Resolves when the server has ended: after `shutDown`, or at the end of input on stdio. */
  readonly finished: Promise<void>;
  /** Stops accepting, ends all processes and sessions, drops all connections. Calling again with no grace hurries it. */
  shutDown(options?: { graceMs?: number }): Promise<void>;
}

const DEFAULT_PING_INTERVAL_MS = 30_000;
const DEFAULT_DETACHED_SESSION_TTL_MS = 30_000;

/** Starts a server; rejects when its address cannot be had. */
export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const server = new Server(options);
  await server.open();
  return server;
}

/** Long enough for a client that waits for the server to come first. */
const WARM_UP_DELAY_MS = 100;

class Server implements RunningServer {
  url = "";
  finished: Promise<void> = Promise.resolve();
  readonly #options: ServerOptions;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #connections = new Set<Connection<SessionState>>();
  readonly #info;
  readonly #methods = new MethodTable<CallContext<SessionState>>();
  readonly #sessions: SessionRegistry<SessionState>;
  readonly #kept = new KeptProcesses();
  readonly #backend: ProcessBackend;
  #warmUp: (() => Promise<unknown>) | null;
  #cancelWarmUp: () => void = () => {};
  #sandboxing: Promise<Sandboxing> | null = null;
  #listener: Listener | null = null;
  #graceMs: number;
  #shuttingDown: Promise<void> | null = null;

  constructor(options: ServerOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#log = options.log ?? silentLogger();
    const host = options.host ?? hostFacts();
    const setting = options.sandbox ?? "auto";
    this.#info = environmentInfo(host, { setting });
    const sandboxing = () => this.#sandboxing ??= this.#loadSandboxing(host.env, setting);
    bindEnvironmentMethods(this.#methods, { info: this.#info, sandboxing });
    bindProcessMethods(this.#methods);
    const loadFiles = bindFsMethods(this.#methods, { clock: this.#clock, host, sandboxing });
    this.#methods.bind(
      METHODS.httpRequest,
      lazily(async () => (await import("./methods/http.ts")).createHttpRequest(this.#clock)),
    );

    const backend = new LazyBackend(this.#log);
    this.#warmUp = () => Promise.all([backend.warmUp(), loadFiles()]);
    const settings: ProcessSettings = {
      backend,
      serverEnv: host.env,
      shutdownGracePeriodMs: 0,
      maxProcesses: null,
      retainedOutputBytes: DEFAULT_RETAINED_OUTPUT_BYTES,
      allowDirect: true,
      allowPrepared: true,
      keepOnSessionEnd: false,
      sandboxing,
      ...options.processes,
    };
    this.#backend = settings.backend;
    this.#graceMs = settings.shutdownGracePeriodMs;
    this.#sessions = new SessionRegistry({
      clock: this.#clock,
      log: this.#log,
      detachedTtlMs: options.listen.type === "stdio"
        ? 0
        : options.detachedSessionTtlMs ?? DEFAULT_DETACHED_SESSION_TTL_MS,
      createResources: () => new SessionState(settings, { clock: this.#clock, log: this.#log, kept: this.#kept }),
      endResources: (state, reason) => state.end(reason, this.#graceMs),
    });
  }

  async #loadSandboxing(
    serverEnv: Readonly<Record<string, string>>,
    setting: SandboxSetting,
  ): Promise<Sandboxing> {
    const { Sandboxing } = await import("./sandboxing.ts");
    return new Sandboxing({ backend: this.#backend, setting, serverEnv, log: this.#log, clock: this.#clock });
  }

  async open(): Promise<void> {
    const { listen } = this.#options;
    if (listen.type === "stdio") {
      this.url = "stdio";
      const link = new StdioLink({ readable: Deno.stdin.readable, writable: Deno.stdout.writable });
      this.finished = this.#serve(link, { id: 1, remote: "stdio", requestId: null }).then(() => this.shutDown());
      return;
    }
    const listener = this.#listener = await Listener.open({
      address: listen,
      clock: this.#clock,
      log: this.#log,
      authenticator: this.#options.authenticator ?? null,
      pingIntervalMs: this.#options.pingIntervalMs ?? DEFAULT_PING_INTERVAL_MS,
      onLink: (link, peer) => this.#serve(link, peer),
    });
    this.url = listener.url;
    this.#cancelWarmUp = this.#clock.setTimer(WARM_UP_DELAY_MS, () => this.#warmUpOnce());
    this.finished = listener.run().then(() => this.shutDown());
  }

  shutDown(options: { graceMs?: number } = {}): Promise<void> {
    if (options.graceMs !== undefined) this.#graceMs = options.graceMs;
    if (this.#shuttingDown === null) this.#shuttingDown = this.#shutDown();
    return this.#shuttingDown;
  }

  /**
   * Start-up does not pay for what the first request needs: idle time does, or else the time between the first client's
   * handshake and its request.
   */
  #warmUpOnce(): void {
    this.#cancelWarmUp();
    const warmUp = this.#warmUp;
    this.#warmUp = null;
    warmUp?.().then(
      () => this.#log.debug("ready for the first request"),
      (error) => this.#log.warn("cannot load ahead", errorFields(error)),
    );
  }

  async #shutDown(): Promise<void> {
    this.#cancelWarmUp();
    this.#log.info("shutting down", { connections: this.#connections.size, sessions: this.#sessions.size });
    this.#listener?.close();
    // Connections stay until their processes have ended, so that clients see the last output and the exit.
    await Promise.all([this.#sessions.endAll("serverShutdown"), this.#kept.endAll(this.#graceMs)]);
    // One that could not be loaded has told whoever asked for it, and holds nothing.
    (await this.#sandboxing?.catch(() => null))?.close();
    const { survivors } = await this.#backend.close({ graceMs: this.#graceMs });
    if (survivors.length > 0) this.#log.warn("processes survived the server's end", { pids: survivors.join(" ") });
    for (const connection of this.#connections) connection.close();
    await this.#listener?.dropAll();
  }

  async #serve(link: Link, peer: Peer): Promise<void> {
    const log = this.#log.with({ connection: peer.id });
    const connection = new Connection<SessionState>({
      link,
      log,
      clock: this.#clock,
      sessions: this.#sessions,
      methods: this.#methods,
      environmentInfo: this.#info,
      concurrentRequests: this.#options.concurrentRequests ?? null,
      onReady: () => this.#warmUpOnce(),
      answersAfterEnd: this.#options.listen.type === "stdio",
    });
    this.#connections.add(connection);
    log.info("connected", { remote: peer.remote, requestId: peer.requestId ?? undefined });
    const end = await connection.run();
    this.#connections.delete(connection);
    const { type, ...details } = end;
    log.info("disconnected", { end: type, ...details });
  }
}
