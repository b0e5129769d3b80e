/**
 * What checks use: connections, processes and a directory of their own on the server's machine. All of it is removed
 * afterwards. It relies only on what every server of the protocol understands: `file:` URIs and `writeId`s, no flags.
 */

import { textOf } from "./check.ts";
import { Broken, type Message, Peer, type PeerOptions } from "./peer.ts";

const ENV = { PATH: "/usr/local/bin:/usr/bin:/bin" };

interface Started {
  readonly sessionId: string;
  readonly processId: string;
}

export class Scene {
  readonly #options: PeerOptions;
  readonly #peers: Peer[] = [];
  readonly #sessions = new Map<Peer, string>();
  readonly #started: Started[] = [];
  #directory: string | null = null;
  #lastName = 0;
  capabilities: Readonly<Record<string, boolean>> = {};

  constructor(options: PeerOptions) {
    this.#options = options;
  }

  get url(): string {
    return this.#options.url;
  }

  get token(): string | null {
    return this.#options.token;
  }

  /** A connection without a handshake. */
  async open(token: string | null = this.#options.token): Promise<Peer> {
    const peer = await Peer.open({ ...this.#options, token });
    this.#peers.push(peer);
    return peer;
  }

  /** A connection after the handshake, with its own session. */
  async connect(params: Record<string, unknown> = {}): Promise<Peer> {
    const peer = await this.open();
    const result = await peer.result("initialize", { clientName: "exec-server conform", ...params });
    this.capabilities = result.environmentInfo?.capabilities ?? {};
    this.#sessions.set(peer, result.sessionId);
    peer.notify("initialized", {});
    return peer;
  }

  sessionOf(peer: Peer): string {
    return this.#sessions.get(peer)!;
  }

  /** Resumes a session whose connection has ended. The server may take a moment to notice the end. */
  async resume(sessionId: string, params: Record<string, unknown> = {}): Promise<Peer> {
    const deadline = performance.now() + this.#options.patienceMs;
    for (;;) {
      const peer = await this.open();
      const answer = await peer.request("initialize", { clientName: "conform", resumeSessionId: sessionId, ...params });
      if (answer.error?.code === -32010 && performance.now() < deadline) {
        await peer.close();
        await new Promise((resolve) => setTimeout(resolve, 100));
        continue;
      }
      if (answer.error !== undefined) throw new Broken(`a resume is answered with ${JSON.stringify(answer.error)}`);
      this.#sessions.set(peer, answer.result.sessionId);
      peer.notify("initialized", {});
      return peer;
    }
  }

  /** A name that was not used before. */
  name(prefix = "p"): string {
    return `${prefix}${++this.#lastName}`;
  }

  /** The URI of a name in the checks' directory. */
  async at(name: string): Promise<string> {
    if (this.#directory === null) {
      const peer = await this.connect();
      const { environmentInfo } = { environmentInfo: await peer.result("environment/info") };
      const base = environmentInfo.tempDir ?? "file:///tmp";
      const path = `${base.replace(/\/$/, "")}/exec-server-conform-${crypto.randomUUID()}`;
      await peer.result("fs/createDirectory", { path });
      this.#directory = path;
    }
    return `${this.#directory}/${name}`;
  }

  /** The same as a native path. */
  async native(name: string): Promise<string> {
    return decodeURIComponent((await this.at(name)).slice("file://".length));
  }

  /** Parameters for `process/start`. */
  command(
    argv: readonly string[],
    more: Record<string, unknown> = {},
  ): Record<string, unknown> & { processId: string } {
    return { processId: this.name(), argv, cwd: "file:///tmp", env: ENV, tty: false, pipeStdin: false, ...more };
  }

  /** Starts a process, and ends it after the check. */
  async start(peer: Peer, argv: readonly string[], more: Record<string, unknown> = {}): Promise<string> {
    const command = this.command(argv, more);
    this.#started.push({ sessionId: this.sessionOf(peer), processId: command.processId });
    await peer.result("process/start", command);
    return command.processId;
  }

  /** Runs a shell's script to its end. */
  async run(peer: Peer, script: string, more: Record<string, unknown> = {}): Promise<Ended> {
    const processId = await this.start(peer, ["sh", "-c", script], more);
    return await this.ended(peer, processId);
  }

  /** All notifications about a process, until it is closed. */
  async ended(peer: Peer, processId: string): Promise<Ended> {
    const events: Message[] = [];
    const isOf = ({ method, params }: Message) => method !== undefined && params?.processId === processId;
    for (;;) {
      const { message } = await peer.take(isOf, `the end of ${processId}`);
      events.push(message);
      if (message.method === "process/closed") break;
    }
    const sorted = events.filter(({ params }) => params.seq !== undefined)
      .sort((a, b) => a.params.seq - b.params.seq);
    const written = (stream: string) =>
      sorted.filter(({ params }) => params.stream === stream).map(({ params }) => textOf(params.chunk)).join("");
    return {
      events: sorted,
      stdout: written("stdout"),
      stderr: written("stderr"),
      terminal: written("pty"),
      exitCode: sorted.find(({ method }) => method === "process/exited")?.params.exitCode ?? null,
    };
  }

  /** Ends processes and connections of the last check. */
  async clear(): Promise<void> {
    for (const [peer, sessionId] of this.#sessions) {
      for (const { processId } of this.#started.filter((started) => started.sessionId === sessionId)) {
        await peer.request("process/terminate", { processId }).catch(() => {});
      }
    }
    this.#started.length = 0;
    for (const [peer] of this.#sessions) {
      if (this.capabilities.sessionEnd === true) await peer.request("session/end").catch(() => {});
    }
    for (const peer of this.#peers.splice(0)) await peer.close();
    this.#sessions.clear();
  }

  /** Removes what is left on the server's machine. */
  async leave(): Promise<void> {
    if (this.#directory !== null) {
      const peer = await this.connect();
      await peer.result("fs/remove", { path: this.#directory, recursive: true, force: true });
    }
    await this.clear();
  }
}

/** The notifications about a process, in the order of their numbers. */
export interface Ended {
  readonly events: readonly Message[];
  readonly stdout: string;
  readonly stderr: string;
  readonly terminal: string;
  readonly exitCode: number | null;
}
