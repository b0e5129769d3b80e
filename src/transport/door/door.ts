/**
 * A listening socket that speaks HTTP: accepts, does the TLS handshake, reads one request per connection, and lets
 * rules decide whether to answer it or turn it into a websocket.
 *
 * It keeps the bounds: requests that are too slow or too long, too many connections, accepts that fail for lack of
 * descriptors. The rules (`DoorRules`) judge the request and the peer, and serve the websocket.
 *
 * More than 300 lines: the steps of one connection at the door, which share its deadline.
 */

import { writeFully } from "../../bytes.ts";
import type { Clock } from "../../clock.ts";
import type { Logger } from "../../log.ts";
import { AcceptFailures } from "./accept_failures.ts";
import { connectionLimits } from "./connection_limits.ts";
import { type MalformedHead, MAX_REQUEST_HEAD_BYTES, parseHead, type RequestHead } from "./http_head.ts";
import { type HttpResponse, httpResponse, serializeResponse, serializeUpgrade } from "./http_response.ts";
import { bindListener, type ListenerAddress } from "../listen/listen_bind.ts";
import { requireMatchingScheme } from "../listen/listen_error.ts";
import { RefusalLog, withoutPort } from "./refusal_log.ts";
import type { SecureLayer } from "../tls/secure_layer.ts";
import { type StreamedResponse, writeStreamed } from "./streamed_response.ts";
import type { AcceptedStream, StreamSource } from "../listen/stream_source.ts";
import { type AcceptedUpgrade, answerMalformed } from "./upgrade.ts";
import { WaitingRoom } from "./waiting_room.ts";
import type { ByteStream } from "../byte_stream.ts";
import { EndAwareStream } from "./end_aware_stream.ts";

export interface DoorOptions {
  address: ListenerAddress;
  /** Descriptors of listening sockets that were handed over, one of them at this address. Empty: it is bound. */
  inherited?: readonly number[];
  clock: Clock;
  log: Logger;
  /** Null: connections are in the clear. */
  tls: SecureLayer | null;
  /** Longest body of a request that is read. Zero, the default: bodies are never read. */
  maxBodyBytes?: number;
  /** How many connections may wait and be served. */
  limits?: { readonly waiting: number; readonly served: number };
}

/** One request, and what is known about its sender. */
export interface DoorRequest<Inspection> {
  /** Counts the connections of this door. */
  readonly id: number;
  readonly head: RequestHead;
  /** The body, if it was to be read. Null: it is longer than `maxBodyBytes`, or its length is not stated. */
  readonly body: Uint8Array<ArrayBuffer> | null;
  readonly remote: string;
  readonly inspection: Inspection;
  /**
   * Counts it among the served connections, so that it may wait for its answer. False: there is no room. May be called
   * again.
   */
  admit(): boolean;
  /** Resolves when the peer has closed its side and does not wait for the answer any more. Never rejects. */
  whenGone(): Promise<void>;
}

export interface UpgradedStream<Upgrade extends AcceptedUpgrade> {
  readonly id: number;
  readonly stream: AcceptedStream;
  /** What the rules decided. */
  readonly upgrade: Upgrade;
  /** Bytes that came behind the request in the same packet. */
  readonly initialBytes: Uint8Array<ArrayBuffer>;
  readonly remote: string;
}

export interface DoorRules<Inspection, Upgrade extends AcceptedUpgrade> {
  /** Inspects a connection, in the turn in which it was accepted. */
  inspect(stream: AcceptedStream): Inspection;
  answer(request: DoorRequest<Inspection>): Promise<HttpResponse | StreamedResponse | Upgrade>;
  /** Serves a websocket. The stream is closed when the promise resolves. */
  serve(upgraded: UpgradedStream<Upgrade>): Promise<void>;
  /** Releases an upgrade that cannot be served after all, because there is no room or the peer has gone. */
  abandon?(upgrade: Upgrade): void;
}

/**
 * How long a client may take for its TLS handshake and its request, and then to read the answer. Enough for a person
 * with telnet. The time to decide the answer does not count.
 */
const PATIENCE_MS = 10_000;
/** How long to pause after a failed accept (no descriptors left): connections that end meanwhile free some. */
const ACCEPT_RETRY_MS = 100;

export class Door<Inspection, Upgrade extends AcceptedUpgrade> {
  readonly url: string;
  readonly #options: DoorOptions;
  readonly #source: StreamSource;
  readonly #waiting: WaitingRoom;
  /** Connections that were let in and are served. */
  readonly #served = new Set<AcceptedStream>();
  readonly #maxServed: number;
  readonly #acceptFailures: AcceptFailures;
  readonly #lives = new Set<Promise<void>>();
  readonly #refusals: RefusalLog;
  #nextId = 1;
  #isClosed = false;

  private constructor(source: StreamSource, url: string, options: DoorOptions) {
    this.#source = source;
    this.url = url;
    this.#options = options;
    this.#refusals = new RefusalLog(options);
    this.#acceptFailures = new AcceptFailures(options);
    const { waiting, served } = options.limits ?? connectionLimits();
    this.#waiting = new WaitingRoom({ maxConnections: waiting });
    this.#maxServed = served;
  }

  /** Binds the address; rejects with a `ListenError` when that is not possible, or not with this `tls`. */
  static async open<Inspection, Upgrade extends AcceptedUpgrade>(
    options: DoorOptions,
  ): Promise<Door<Inspection, Upgrade>> {
    requireMatchingScheme(options.address, { hasTls: options.tls !== null });
    const { source, url } = await bindListener(
      options.address,
      options.tls === null ? "ws" : "wss",
      options.inherited,
    );
    return new Door(source, url, options);
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Accepts until `close`. */
  async run(rules: DoorRules<Inspection, Upgrade>): Promise<void> {
    while (!this.#isClosed) {
      let socket: AcceptedStream;
      try {
        socket = await this.#source.accept();
      } catch (error) {
        if (this.#isClosed) return;
        this.#acceptFailures.add(error);
        // Mostly for lack of descriptors: connections that have sent nothing yet have the weakest claim to theirs.
        this.#waiting.closeOne();
        await new Promise<void>((resolve) => this.#options.clock.setTimer(ACCEPT_RETRY_MS, resolve));
        continue;
      }
      const life = this.#serve(socket, this.#nextId++, rules)
        .catch((error) => this.#options.log.warn("connection failed", { error: String(error) }))
        .finally(() => this.#lives.delete(life));
      this.#lives.add(life);
    }
  }

  /** Stops accepting. Open connections stay until they end or `dropAll`. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#source.close(); // For a unix socket this removes its file too.
  }

  /** Drops every open socket and waits until all connections have ended. */
  async dropAll(): Promise<void> {
    this.#waiting.closeAll();
    for (const socket of this.#served) closeQuietly(socket);
    await Promise.all(this.#lives);
    this.#refusals.close();
    await this.#source.idle();
  }

  async #serve(socket: AcceptedStream, id: number, rules: DoorRules<Inspection, Upgrade>): Promise<void> {
    const remote = socket.describePeer();
    const address = withoutPort(remote);
    this.#waiting.enter(socket, address);
    try {
      const inspection = rules.inspect(socket);
      const admit = () => {
        if (this.#served.has(socket)) return true;
        if (this.#served.size >= this.#maxServed) return false;
        this.#waiting.leave(socket, address);
        this.#served.add(socket);
        return true;
      };
      const upgraded = await this.#handshake(socket, id, { remote, inspection, admit, rules });
      if (upgraded !== null) await rules.serve(upgraded);
    } finally {
      this.#waiting.leave(socket, address);
      this.#served.delete(socket);
      closeQuietly(socket);
    }
  }

  /** Reads the request and answers it; the connection itself when the answer was an upgrade. */
  async #handshake(
    accepted: AcceptedStream,
    id: number,
    { remote, inspection, admit, rules }: {
      remote: string;
      inspection: Inspection;
      admit: () => boolean;
      rules: DoorRules<Inspection, Upgrade>;
    },
  ): Promise<UpgradedStream<Upgrade> | null> {
    let socket = accepted;
    let isUpgraded = false;
    const patience = new Patience(this.#options.clock, () => closeQuietly(socket));
    try {
      socket = await this.#secure(accepted, remote, () => patience.isOver);
      const request = await readRequest(socket, this.#options.maxBodyBytes ?? 0);
      if (request === null) return null;

      let watched: EndAwareStream | null = null;
      const whenGone = () => (watched ??= new EndAwareStream(socket)).whenGone();
      patience.pause();
      let answer = request.head.type === "malformed"
        ? answerMalformed(request.head)
        : await rules.answer({ id, head: request.head, body: request.body, remote, inspection, admit, whenGone });
      patience.resume();
      const stream: AcceptedStream = watched ?? socket;

      if (answer.type !== "response" && !admit()) {
        if (answer.type === "upgrade") rules.abandon?.(answer);
        else await answer.body.cancel();
        answer = httpResponse(503, "too many connections");
      }
      if (answer.type === "upgrade") {
        await writeFully(stream, serializeUpgrade(answer)).catch((error) => {
          rules.abandon?.(answer as Upgrade);
          throw error;
        });
        isUpgraded = true;
        return { id, stream, upgrade: answer, initialBytes: request.rest, remote };
      }
      if (answer.type === "stream") {
        // Sending the body may take any time.
        patience.end();
        const gone = whenGone();
        await writeStreamed(watched!, answer, gone);
        await watched!.closeWrite();
        // The peer reads the rest before the socket closes.
        const { promise: late, resolve } = Promise.withResolvers<void>();
        const cancel = this.#options.clock.setTimer(PATIENCE_MS, resolve);
        await Promise.race([gone, late]).finally(cancel);
        return null;
      }
      this.#tell(remote, answer);
      await writeFully(stream, serializeResponse(answer));
      await discardUntilClosed(stream);
      return null;
    } catch (error) {
      this.#options.log.debug("HTTP request abandoned", { error: String(error) });
      return null;
    } finally {
      patience.end();
      if (!isUpgraded) closeQuietly(socket);
    }
  }

  #tell(remote: string, { status, body, reason }: HttpResponse): void {
    if (status !== 401 && status !== 403) this.#options.log.debug("HTTP request answered", { status });
    else this.#refusals.add({ remote, status, reason: reason ?? body ?? "" });
  }

  /** The connection as it is read and written: directly, or over TLS. */
  async #secure(accepted: AcceptedStream, remote: string, isTooLate: () => boolean): Promise<AcceptedStream> {
    const { tls } = this.#options;
    if (tls === null) return accepted;
    try {
      return await tls.open(accepted);
    } catch (error) {
      // If we closed the socket ourselves, its error does not say why.
      const why = isTooLate()
        ? `not complete within ${PATIENCE_MS / 1000} s`
        : !this.#waiting.holds(accepted, withoutPort(remote))
        ? "too many connections wait, and this one waited longest"
        : error instanceof Error
        ? error.message
        : String(error);
      const reason = `TLS handshake failed: ${why}`;
      if (!this.#isClosed) this.#refusals.add({ remote, status: 400, reason });
      throw error;
    }
  }
}

interface ReadRequest {
  readonly head: RequestHead | MalformedHead;
  readonly body: Uint8Array<ArrayBuffer> | null;
  /** Bytes that came after the request. */
  readonly rest: Uint8Array<ArrayBuffer>;
}

const EMPTY = new Uint8Array(0);

/** Enough for most requests. The buffer grows for longer ones. */
const USUAL_HEAD_BYTES = 1024;

/** Null when the peer closes before its request is complete. */
async function readRequest(socket: ByteStream, maxBodyBytes: number): Promise<ReadRequest | null> {
  let buffer: Uint8Array<ArrayBuffer> = new Uint8Array(USUAL_HEAD_BYTES);
  let end = 0;
  for (;;) {
    if (end === buffer.length) buffer = grown(buffer, MAX_REQUEST_HEAD_BYTES + 1);
    const read = await socket.read(buffer.subarray(end));
    if (read === null) return null;
    end += read;
    const head = parseHead(buffer.subarray(0, end));
    if (head.type === "incomplete") continue;
    if (head.type === "malformed" || maxBodyBytes === 0) {
      const hasRest = head.type === "head" && end > head.headBytes;
      return { head, body: EMPTY, rest: hasRest ? buffer.slice(head.headBytes, end) : EMPTY };
    }
    const bodyBytes = statedBodyBytes(head);
    if (bodyBytes === null || bodyBytes > maxBodyBytes) return { head, body: null, rest: EMPTY };
    const total = head.headBytes + bodyBytes;
    if (total > buffer.length) buffer = grown(buffer, total);
    while (end < total) {
      const more = await socket.read(buffer.subarray(end, total));
      if (more === null) return null;
      end += more;
    }
    return { head, body: buffer.slice(head.headBytes, total), rest: buffer.slice(total, end) };
  }
}

/** A longer array that begins with the same bytes. */
function grown(bytes: Uint8Array, length: number): Uint8Array<ArrayBuffer> {
  const longer = new Uint8Array(length);
  longer.set(bytes);
  return longer;
}

/** Null when the body comes in chunks, whose sum is not stated. */
function statedBodyBytes(head: RequestHead): number | null {
  if (head.headers.has("transfer-encoding")) return null;
  return Number(head.headers.get("content-length")?.[0] ?? 0);
}

/** The time a peer may take. It does not run while the peer waits for us. */
class Patience {
  readonly #clock: Clock;
  readonly #exhausted: () => void;
  #leftMs = PATIENCE_MS;
  #startedAtMs: number;
  #cancel: () => void;
  #isOver = false;

  constructor(clock: Clock, exhausted: () => void) {
    this.#clock = clock;
    this.#exhausted = () => {
      this.#isOver = true;
      exhausted();
    };
    this.#startedAtMs = clock.now();
    this.#cancel = clock.setTimer(this.#leftMs, this.#exhausted);
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  pause(): void {
    this.#cancel();
    this.#leftMs = Math.max(0, this.#leftMs - (this.#clock.now() - this.#startedAtMs));
  }

  resume(): void {
    this.#startedAtMs = this.#clock.now();
    this.#cancel = this.#clock.setTimer(this.#leftMs, this.#exhausted);
  }

  end(): void {
    this.#cancel();
  }
}

/** Lets the peer read the answer before the socket closes: closing with unread bytes would reset it. */
async function discardUntilClosed(socket: ByteStream): Promise<void> {
  await socket.closeWrite();
  const scratch = new Uint8Array(4096);
  while (await socket.read(scratch) !== null) { /* dropped */ }
}

function closeQuietly(socket: ByteStream): void {
  try {
    socket.close();
  } catch {
    // Closed already, by its link or by its peer's failure.
  }
}
