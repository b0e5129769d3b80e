/**
 * Builds everything, wires it, and runs it until it is told to stop.
 *
 * More than 300 lines: it builds every part once, and the parts need each other.
 */

import { type Clock, systemClock } from "../clock.ts";
import { environmentInfo, type HostFacts, hostFacts } from "../environment/info.ts";
import { errorFields, type Logger, silentLogger } from "../log.ts";
import { giveFreeMemoryBack } from "../os/allocator.ts";
import { sharedPacer } from "../os/loop/pacer.ts";
import { setLingering } from "../os/loop/reactor.ts";
import { MAX_ANSWER_BYTES_OF_ALL } from "../protocol/limits.ts";
import { postponeCompiling } from "../os/libc.ts";
import { whyNoLibc } from "../os/libc_access.ts";
import { sandboxObstacle } from "../launch/sandbox_obstacle.ts";
import { SharedAnswers } from "../rpc/answer_budget.ts";
import type { Link } from "../rpc/link.ts";
import type { ProcessBackend } from "../process/backend.ts";
import { LazyBackend } from "../process/lazy_backend.ts";
import { ClosedLedger } from "../process/session/closed_ledger.ts";
import { OutputReserve } from "../process/session/output_reserve.ts";
import {
  CLOSED_RETENTION_MS,
  DEFAULT_ACKNOWLEDGED_OUTPUT_BYTES,
  DEFAULT_DETACHED_OUTPUT_BYTES,
  DEFAULT_MAX_CLOSED_BYTES,
  DEFAULT_MAX_CLOSED_PROCESSES,
  DEFAULT_RETAINED_OUTPUT_BYTES,
} from "../process/limits.ts";
import type { Authenticator } from "../transport/door/auth.ts";
import type { LinkSource, Peer } from "../transport/link_source.ts";
import { ListenError } from "../transport/listen/listen_error.ts";
import { Listener, type ListenerAddress } from "../transport/listener.ts";
import type { SecureLayer } from "../transport/tls/secure_layer.ts";
import { StdioSource } from "../transport/stdio_source.ts";
import { BoundedEnding } from "./bounded_ending.ts";
import { Connection } from "./connection.ts";
import { loadStart, prepareEarly } from "./early_start.ts";
import { LateMethods } from "./late_methods.ts";
import { loadProcesses } from "./late_processes.ts";
import type { BoundMethods } from "./methods/bind_methods.ts";
import { ProcessDirectory } from "./process_directory.ts";
import { withoutOwnCredentials } from "../launch/own_credentials.ts";
import { IdleExit } from "./idle_exit.ts";
import { collectGarbage, MemoryKeeper } from "./memory_keeper.ts";
import type { SandboxSetting } from "../launch/backends/sandbox_probe.ts";
import type { Sandboxing } from "./sandboxing.ts";
import type { RuntimePaths } from "./runtime_paths.ts";
import { ShellStateLedger } from "../environment/shell_snapshot/state_ledger.ts";
import { SessionRegistry } from "./sessions.ts";
import { type ProcessSettings, SessionState } from "./session_state.ts";
import { WarmUp } from "./warm_up.ts";

/** What does not depend on how clients come in. */
export interface ServingOptions {
  /** Null lets everybody in. */
  authenticator?: Authenticator | null;
  /** Null: results as if in arrival order, with nothing waiting that need not. */
  concurrentRequests?: number | null;
  detachedSessionTtlMs?: number;
  /** The most that a client may ask for in place of that. */
  maxDetachTtlMs?: number;
  processes?: Partial<ProcessSettings>;
  /** The server ends after this time without use. Null, the default: never. */
  idleExitMs?: number | null;
  /** Whether clients may connect to ports of this machine's loopback addresses. Default: no. */
  allowTunnel?: boolean;
  /** Whether the main thread waits for a moment before another one does. Holds for the whole program. Default: yes. */
  lingers?: boolean;
  /** What sandboxes are made with. */
  sandbox?: SandboxSetting;
  /** Programs of the server's own, for one that is embedded in another program. */
  runtimePaths?: RuntimePaths;
  log?: Logger;
  clock?: Clock;
  host?: HostFacts;
}

export interface ServerOptions extends ServingOptions {
  listen: ListenerAddress | { readonly type: "stdio" };
  /** Whether, on loopback without an authenticator, users besides the server's own and root may connect. */
  allowOtherUsers?: boolean;
  /** Web pages of these origins may connect, if there is an authenticator. Default: none. */
  allowedOrigins?: readonly string[];
  /** What encrypts connections, made by `loadTls`: needed for `wss:`, and for nothing else. Null: nothing does. */
  tls?: SecureLayer | null;
  pingIntervalMs?: number;
}

export interface RunningServer {
  /** Where clients connect; `stdio` for that transport. */
  readonly url: string;
  /** Resolves when the server has ended: after `shutDown`, or at the end of input on stdio. */
  readonly finished: Promise<void>;
  /**
   * Stops accepting, ends all processes and sessions, drops all connections. Calling again with no grace hurries it.
   * Resolves in bounded time: what does not end is given up, and logged.
   */
  shutDown(options?: { graceMs?: number }): Promise<void>;
}

const DEFAULT_PING_INTERVAL_MS = 30_000;
const DEFAULT_DETACHED_SESSION_TTL_MS = 30_000;
const DEFAULT_MAX_DETACH_TTL_MS = 24 * 60 * 60 * 1000;

/** Starts a server; rejects when it cannot listen on the address. */
export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const server = new Server(options, { isStdio: options.listen.type === "stdio" });
  server.serve(await openSource(options));
  return server;
}

/** Serves what comes out of a source that is open already. */
export function serveLinks(source: LinkSource, options: ServingOptions): RunningServer {
  const server = new Server(options, { isStdio: false });
  server.serve(source);
  return server;
}

async function openSource(options: ServerOptions): Promise<LinkSource> {
  if (options.listen.type === "stdio") {
    if ((options.tls ?? null) !== null) throw new ListenError("stdio", "it has no TLS: leave out `tls`");
    return new StdioSource();
  }
  return await Listener.open({
    address: options.listen,
    clock: options.clock ?? systemClock,
    log: options.log ?? silentLogger(),
    authenticator: options.authenticator ?? null,
    allowOtherUsers: options.allowOtherUsers ?? false,
    allowedOrigins: options.allowedOrigins ?? [],
    tls: options.tls ?? null,
    pingIntervalMs: options.pingIntervalMs ?? DEFAULT_PING_INTERVAL_MS,
  });
}

/**
 * How long the end may take besides the grace that processes are given, which is given twice: to those of sessions, then
 * to what is left. Looking for processes that do not go takes 5 s each time, 15 s in all, and last answers 2 s; a busy
 * machine may take twice as long.
 */
const SHUT_DOWN_LIMIT_MS = 30_000;
const GRACES = 2;

class Server implements RunningServer {
  url = "";
  readonly finished: Promise<void>;
  readonly #finished = Promise.withResolvers<void>();
  readonly #options: ServingOptions;
  /** On standard input and output there is one client, and the server lives as long as its connection. */
  readonly #isStdio: boolean;
  readonly #clock: Clock;
  readonly #log: Logger;
  /** With their numbers in the log. */
  readonly #connections = new Map<Connection<SessionState>, number>();
  readonly #info;
  readonly #methods: LateMethods<BoundMethods>;
  readonly #sessions: SessionRegistry<SessionState>;
  readonly #answers = new SharedAnswers(MAX_ANSWER_BYTES_OF_ALL);
  readonly #memory: MemoryKeeper;
  readonly #directory: ProcessDirectory;
  readonly #closedLedger: ClosedLedger;
  readonly #backend: ProcessBackend;
  readonly #warmUp: WarmUp;
  #sandboxing: Promise<Sandboxing> | null = null;
  #source: LinkSource | null = null;
  readonly #ending: BoundedEnding;
  readonly #idleExit: IdleExit | null;
  #graceMs: number;
  #shuttingDown: Promise<void> | null = null;

  constructor(options: ServingOptions, { isStdio }: { isStdio: boolean }) {
    this.#options = options;
    this.#isStdio = isStdio;
    postponeCompiling();
    if (options.lingers !== undefined) setLingering(options.lingers);
    this.#clock = options.clock ?? systemClock;
    this.#log = options.log ?? silentLogger();
    this.#ending = new BoundedEnding(this.#clock);
    this.finished = this.#finished.promise;
    this.#memory = new MemoryKeeper({
      clock: this.#clock,
      resident: () => Deno.memoryUsage().rss,
      collect: collectGarbage,
      giveBack: giveFreeMemoryBack,
    });
    const facts = options.host ?? hostFacts();
    // The server's own credentials are left out here: children, and requests that name variables, get only the rest.
    const host = { ...facts, env: withoutOwnCredentials(facts.env) };
    const setting = options.sandbox ?? "auto";
    const { allowTunnel = false } = options;
    this.#info = environmentInfo(host, {
      setting,
      hasLibc: whyNoLibc() === null,
      mayConfine: sandboxObstacle() === null,
      mayTunnel: allowTunnel,
    });
    const sandboxing = () => this.#sandboxing ??= this.#loadSandboxing(host.env, setting);
    const retainedOutputBytes = options.processes?.retainedOutputBytes ?? DEFAULT_RETAINED_OUTPUT_BYTES;
    this.#methods = new LateMethods(async () => {
      const [{ bindMethods }] = await Promise.all([import("./methods/bind_methods.ts"), loadProcesses()]);
      return bindMethods({ clock: this.#clock, host, info: this.#info, sandboxing, retainedOutputBytes, allowTunnel });
    });
    const backend = new LazyBackend(this.#log);
    this.#warmUp = new WarmUp({
      clock: this.#clock,
      log: this.#log,
      early: () => {
        backend.joinGroup();
        this.#source?.warmUp?.();
      },
      first: async () => {
        await backend.load();
        await Promise.all([backend.prepare(), loadStart()]);
      },
      rest: async () => {
        await (await this.#methods.load()).loadFiles();
        await backend.prepareRest();
        await this.#rehearse(settings);
      },
    });
    const settings: ProcessSettings = {
      backend,
      serverEnv: host.env,
      shutdownGracePeriodMs: 0,
      maxProcesses: null,
      retainedOutputBytes,
      closedRetentionMs: CLOSED_RETENTION_MS,
      maxClosedProcesses: DEFAULT_MAX_CLOSED_PROCESSES,
      maxClosedProcessBytes: DEFAULT_MAX_CLOSED_BYTES,
      acknowledgedOutputBytes: DEFAULT_ACKNOWLEDGED_OUTPUT_BYTES,
      detachedOutputBytes: DEFAULT_DETACHED_OUTPUT_BYTES,
      allowDirect: true,
      allowPrepared: true,
      keepOnSessionEnd: false,
      sharedProcesses: true,
      sandboxing,
      ...options.processes,
    };
    this.#backend = settings.backend;
    this.#graceMs = settings.shutdownGracePeriodMs;
    const directory = this.#directory = new ProcessDirectory({ isShared: settings.sharedProcesses });
    const closedLedger = this.#closedLedger = new ClosedLedger({
      maxProcesses: settings.maxClosedProcesses,
      maxBytes: settings.maxClosedProcessBytes,
      clock: this.#clock,
      log: this.#log,
    });
    const outputReserve = new OutputReserve(settings.acknowledgedOutputBytes);
    const shellStates = new ShellStateLedger();
    const surroundings = { clock: this.#clock, log: this.#log, directory, closedLedger, outputReserve, shellStates };
    this.#sessions = new SessionRegistry({
      clock: this.#clock,
      log: this.#log,
      detachedTtlMs: isStdio ? 0 : options.detachedSessionTtlMs ?? DEFAULT_DETACHED_SESSION_TTL_MS,
      maxDetachTtlMs: isStdio ? 0 : options.maxDetachTtlMs ?? DEFAULT_MAX_DETACH_TTL_MS,
      createResources: () => new SessionState(settings, surroundings),
      hasProcesses: (state) => state.hasProcesses,
      endResources: (state, reason) => state.end(reason, this.#graceMs),
    });
    const { idleExitMs = null } = options;
    this.#idleExit = idleExitMs === null || isStdio ? null : new IdleExit({
      clock: this.#clock,
      idleMs: idleExitMs,
      isBusy: () => this.#connections.size > 0 || this.#sessions.size > 0 || directory.hasRunning,
      onIdle: () => {
        this.#log.info("nobody has used the server for a while: idle exit", { idleMs: idleExitMs });
        this.shutDown();
      },
    });
  }

  /** The rehearsal has tables of its own, so that its session and requests do not show up in the server's. */
  async #rehearse(settings: ProcessSettings): Promise<void> {
    const { rehearse } = await import("./rehearsal.ts");
    const [clock, log] = [this.#clock, silentLogger()];
    const surroundings = {
      clock,
      log,
      directory: new ProcessDirectory({ isShared: false }),
      closedLedger: new ClosedLedger({ clock, log }),
      outputReserve: new OutputReserve(),
      shellStates: new ShellStateLedger(),
    };
    const createResources = () => new SessionState(settings, surroundings);
    await rehearse({ clock, methods: this.#methods, environmentInfo: this.#info, createResources });
  }

  async #loadSandboxing(
    serverEnv: Readonly<Record<string, string>>,
    setting: SandboxSetting,
  ): Promise<Sandboxing> {
    const { Sandboxing } = await import("./sandboxing.ts");
    const { runtimePaths: paths = {} } = this.#options;
    const isReachable = !this.#isStdio && this.#source?.isOutbound !== true;
    const isOpen = isReachable && (this.#options.authenticator ?? null) === null;
    const [log, clock] = [this.#log, this.#clock];
    return new Sandboxing({ backend: this.#backend, setting, serverEnv, paths, isOpen, log, clock });
  }

  /** Begins to serve; to be called once. */
  serve(source: LinkSource): void {
    this.#source = source;
    this.url = source.url;
    source.observeSessions?.(() => this.#sessions.size);
    // On stdio the first request is there already.
    if (!this.#isStdio) this.#warmUp.beginWhenIdle();
    this.#idleExit?.begin();
    source.run((link, peer) => this.#serve(link, peer))
      .then(() => this.shutDown())
      .catch((error) => this.#finished.reject(error));
  }

  shutDown(options: { graceMs?: number } = {}): Promise<void> {
    if (options.graceMs !== undefined) this.#graceMs = options.graceMs;
    this.#ending.limit(GRACES * this.#graceMs + SHUT_DOWN_LIMIT_MS);
    if (this.#shuttingDown === null) {
      this.#shuttingDown = this.#shutDownInTime();
      this.#shuttingDown.then(this.#finished.resolve, this.#finished.reject);
    }
    return this.#shuttingDown;
  }

  async #shutDownInTime(): Promise<void> {
    const waits = await this.#ending.run(this.#shutDown());
    if (waits === null) return;
    const connections = [...this.#connections.values()].join(" ");
    this.#log.error("gave up waiting for a clean end", { waitingFor: waits.join(", "), connections });
  }

  async #shutDown(): Promise<void> {
    this.#warmUp.close();
    this.#memory.close();
    this.#idleExit?.close();
    this.#log.info("shutting down", { connections: this.#connections.size, sessions: this.#sessions.size });
    this.#source?.close();
    // Connections stay until their processes have ended, so that clients see the last output and the exit.
    await Promise.all([
      this.#ending.wait("sessions", this.#sessions.endAll("serverShutdown")),
      this.#ending.wait("kept processes", this.#directory.endOrphans(this.#graceMs)),
    ]);
    this.#closedLedger.close();
    // If it could not be loaded, its caller was told, and it holds nothing.
    const sandboxing = this.#sandboxing?.catch(() => null) ?? null;
    (await this.#ending.wait("sandboxing", Promise.resolve(sandboxing)))?.close();
    const { survivors } = await this.#ending.wait("processes", this.#backend.close({ graceMs: this.#graceMs }));
    if (survivors.length > 0) this.#log.warn("processes survived the server's end", { pids: survivors.join(" ") });
    for (const connection of this.#connections.keys()) connection.close();
    await this.#ending.wait("connections", Promise.resolve(this.#source?.dropAll()));
  }

  async #serve(link: Link, peer: Peer): Promise<void> {
    const log = this.#log.with({ connection: peer.id });
    const connection = new Connection<SessionState>({
      link,
      log,
      clock: this.#clock,
      sessions: this.#sessions,
      methods: this.#methods,
      prepareEarly,
      environmentInfo: this.#info,
      concurrentRequests: this.#options.concurrentRequests ?? null,
      sharedAnswers: this.#answers,
      turn: () => sharedPacer().turn(),
      onMessage: () => this.#memory.noteActivity(),
      onGreeted: () => this.#warmUp.begin(),
      answersAfterEnd: this.#isStdio,
    });
    this.#connections.set(connection, peer.id);
    log.info("connected", { remote: peer.remote, requestId: peer.requestId ?? undefined, token: peer.holder });
    try {
      const { type, ...details } = await connection.run();
      log.info("disconnected", { end: type, ...details });
    } catch (error) {
      log.error("connection failed", errorFields(error));
      link.close({ cause: "fault", reason: "internal error" });
    } finally {
      this.#connections.delete(connection);
      this.#idleExit?.noteUse();
    }
  }
}
