/**
 * A registry and a rendezvous for tests, as small as they can be: noise and the seed form, on `Deno.serve`. It fails on
 * command: answers of the registry and frames on the way can be replaced, sockets cut, and all of it go silent.
 */

import { decodeRelayFrame, RelayFrameEncoder } from "../../src/remote/relay/relay_frame.ts";

export interface RegistryCall {
  readonly path: string;
  readonly headers: Headers;
  readonly body: string;
  // deno-lint-ignore no-explicit-any
  readonly json: any;
}

export type Direction = "toExecutor" | "toHarness";

export interface TinyRendezvousOptions {
  /** The port to be had again, for one that comes back. */
  port?: number;
  /** In place of the registry's own answer; null: its own. */
  answer?: (call: RegistryCall) => Response | null | Promise<Response | null>;
  /** What becomes of a frame on its way: whatever is handed on, now or later, takes its place. */
  pass?: (
    frame: Uint8Array<ArrayBuffer>,
    direction: Direction,
    handOn: (frame: Uint8Array<ArrayBuffer>) => void,
  ) => void;
  /** Whether an upgrade is answered with this status. */
  refuseUpgrade?: (path: string) => number | null;
  tls?: { cert: string; key: string };
  hostname?: string;
  spareConnections?: number;
}

interface Harness {
  readonly socket: WebSocket;
  readonly streams: Set<string>;
}

export class TinyRendezvous implements AsyncDisposable {
  readonly calls: RegistryCall[] = [];
  readonly #options: TinyRendezvousOptions;
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  #registrations = 0;
  #executorKey: unknown = null;
  #executor: WebSocket | null = null;
  readonly #harnesses = new Set<Harness>();
  /** Websockets of the seed form that have no client yet, and clients that have no executor yet. */
  readonly #idle: WebSocket[] = [];
  readonly #waiting: ((executor: WebSocket) => void)[] = [];
  readonly #sockets = new Set<WebSocket>();
  #changed = Promise.withResolvers<void>();
  /** Upgrades of executors that have been let in. */
  executorConnections = 0;

  constructor(options: TinyRendezvousOptions = {}) {
    this.#options = options;
    this.#server = Deno.serve({
      hostname: options.hostname ?? "127.0.0.1",
      port: options.port ?? 0,
      onListen: () => {},
      ...options.tls,
    }, (request) => this.#handle(request)) as Deno.HttpServer<Deno.NetAddr>;
  }

  get port(): number {
    return this.#server.addr.port;
  }

  get url(): string {
    return `${this.#options.tls === undefined ? "http" : "https"}://${
      this.#options.hostname ?? "127.0.0.1"
    }:${this.port}`;
  }

  get hasExecutor(): boolean {
    return this.#executor !== null || this.#idle.length > 0;
  }

  /** Of the harnesses that are connected. */
  get streams(): string[] {
    return Array.from(this.#harnesses).flatMap(({ streams }) => [...streams]);
  }

  /** Resolves once this holds. */
  async until(holds: () => boolean): Promise<void> {
    while (!holds()) await this.#changed.promise;
  }

  cutExecutor(): void {
    this.#executor?.close();
    for (const socket of this.#idle.splice(0)) socket.close();
  }

  cutHarnesses(): void {
    for (const { socket } of this.#harnesses) socket.close();
  }

  /** To the executor, as if a harness had sent it. */
  inject(frame: Uint8Array<ArrayBuffer>): void {
    this.#executor?.send(frame);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.close();
    await this.#server.shutdown();
  }

  #notify(): void {
    const { resolve } = this.#changed;
    this.#changed = Promise.withResolvers();
    resolve();
  }

  async #handle(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url);
    if (request.headers.get("upgrade") !== null) return this.#upgrade(request, pathname);
    const body = await request.text();
    const call = { path: pathname, headers: new Headers(request.headers), body, json: parsed(body) };
    this.calls.push(call);
    this.#notify();
    return await this.#options.answer?.(call) ?? this.#answer(call);
  }

  #answer({ path, json }: RegistryCall): Response {
    const [, , kind, id, verb] = path.split("/");
    const registration = { environment_id: id, security_profile: "noise_hybrid_ik_v1" };
    const url = (role: string) => `${this.url.replace(/^http/, "ws")}/${role}`;
    if (kind === "executor") {
      const { spareConnections } = this.#options;
      return Response.json({
        id: "reg-1",
        executor_id: id,
        url: url("plain"),
        ...(spareConnections === undefined ? {} : { spareConnections }),
      });
    }
    if (verb === "register") {
      this.#executorKey = json.executor_public_key;
      const executor_registration_id = `reg-${++this.#registrations}`;
      return Response.json({ ...registration, url: url("executor"), executor_registration_id });
    }
    const executor_registration_id = `reg-${this.#registrations}`;
    if (verb === "validate") return Response.json({ valid: true });
    return Response.json({
      ...registration,
      url: url("harness"),
      executor_registration_id,
      executor_public_key: this.#executorKey,
      harness_key_authorization: "auth-1",
    });
  }

  #upgrade(request: Request, path: string): Response {
    const status = this.#options.refuseUpgrade?.(path) ?? null;
    if (status !== null) return new Response(null, { status });
    const { socket, response } = Deno.upgradeWebSocket(request, { idleTimeout: 0 });
    socket.binaryType = "arraybuffer";
    this.#sockets.add(socket);
    socket.addEventListener("close", () => this.#sockets.delete(socket));
    socket.addEventListener("open", () => {
      if (path === "/executor") this.#serveExecutor(socket);
      else if (path === "/harness") this.#serveHarness(socket);
      else if (path === "/plain") this.#servePlain(socket);
      else this.#serveClient(socket);
      this.#notify();
    });
    return response;
  }

  #serveExecutor(socket: WebSocket): void {
    this.executorConnections++;
    this.#executor = socket;
    const handOn = (frame: Uint8Array<ArrayBuffer>) => {
      const streamId = streamOf(frame);
      for (const harness of this.#harnesses) if (harness.streams.has(streamId)) send(harness.socket, frame);
    };
    socket.onmessage = ({ data }) => this.#pass(new Uint8Array(data), "toHarness", handOn);
    socket.onclose = () => {
      if (this.#executor === socket) this.#executor = null;
      for (const { socket, streams } of this.#harnesses) {
        for (const id of streams) send(socket, new RelayFrameEncoder(id).reset("executor_disconnected"));
      }
      this.#notify();
    };
  }

  #serveHarness(socket: WebSocket): void {
    const harness: Harness = { socket, streams: new Set() };
    this.#harnesses.add(harness);
    const handOn = (frame: Uint8Array<ArrayBuffer>) => {
      harness.streams.add(streamOf(frame));
      if (this.#executor !== null) send(this.#executor, frame);
    };
    socket.onmessage = ({ data }) => this.#pass(new Uint8Array(data), "toExecutor", handOn);
    socket.onclose = () => {
      this.#harnesses.delete(harness);
      for (const id of harness.streams) {
        if (this.#executor !== null) send(this.#executor, new RelayFrameEncoder(id).reset("harness_disconnected"));
      }
      this.#notify();
    };
  }

  #pass(
    frame: Uint8Array<ArrayBuffer>,
    direction: Direction,
    handOn: (frame: Uint8Array<ArrayBuffer>) => void,
  ): void {
    if (this.#options.pass === undefined) handOn(frame);
    else this.#options.pass(frame, direction, handOn);
  }

  #servePlain(socket: WebSocket): void {
    this.executorConnections++;
    socket.onclose = () => {
      const at = this.#idle.indexOf(socket);
      if (at >= 0) this.#idle.splice(at, 1);
      this.#notify();
    };
    const client = this.#waiting.shift();
    if (client === undefined) this.#idle.push(socket);
    else client(socket);
  }

  /** A client of the seed form: joined to the next websocket of the executor. */
  #serveClient(client: WebSocket): void {
    const early: unknown[] = [];
    client.onmessage = ({ data }) => early.push(data);
    const join = (executor: WebSocket) => {
      for (const data of early) executor.send(data as string);
      client.onmessage = ({ data }) => send(executor, data);
      executor.onmessage = ({ data }) => send(client, data);
      client.onclose = () => executor.close();
      executor.addEventListener("close", () => client.close());
      if (client.readyState !== WebSocket.OPEN) executor.close();
    };
    const executor = this.#idle.shift();
    if (executor === undefined) this.#waiting.push(join);
    else join(executor);
  }
}

function send(socket: WebSocket, data: string | Uint8Array<ArrayBuffer>): void {
  if (socket.readyState === WebSocket.OPEN) socket.send(data);
}

function streamOf(frame: Uint8Array<ArrayBuffer>): string {
  return decodeRelayFrame(frame).streamId;
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return null;
  }
}
