/**
 * One peer's life, from its first message to its last: decode, gate, schedule, answer.
 *
 * Everything a request does happens through the method table; everything sent goes through one outbound queue. When
 * the connection ends, waits are abandoned, requests that have not begun are forgotten, and the session is detached.
 */

import type { Clock } from "../clock.ts";
import { DomainError, invalidRequest, methodNotFound } from "../errors.ts";
import { errorFields, type LogFields, type Logger } from "../log.ts";
import { InitializeParams, type InitializeResult } from "../protocol/handshake.ts";
import type { EnvironmentInfo } from "../protocol/environment.ts";
import { MAX_REQUEST_BYTES_IN_FLIGHT, MAX_REQUESTS_IN_FLIGHT, MAX_WAITING_REQUESTS } from "../protocol/limits.ts";
import {
  decodeMessage,
  EncodedResult,
  encodeError,
  encodeNotification,
  encodeResult,
  type Message,
  NO_REQUEST_ID,
  type RequestId,
  StreamedResult,
} from "../rpc/envelope.ts";
import type { InboundMessage, Link, LinkEnd, OutboundMessage } from "../rpc/link.ts";
import { decodeParams, type MethodTable, type PreparedCall } from "../rpc/method_table.ts";
import { OutboundQueue } from "../rpc/outbound_queue.ts";
import { Scheduler } from "../rpc/scheduler.ts";
import { toWireError } from "../rpc/wire_error.ts";
import { Call, type CallSurroundings } from "./call.ts";
import { afterInitialize, afterNotification, type GateState, refusal } from "./gate.ts";
import type { Session, SessionHolder, SessionRegistry } from "./sessions.ts";

/** What a session's resources need of the connection that holds it. */
export interface Outlet {
  /** Sends a notification that is small or rare. */
  notify(method: string, params: unknown): void;
  /** Sends an already encoded notification that belongs to a stream of output. */
  output(message: OutboundMessage): void;
  /** False when output sources should pause until `outputHasRoom` is called on them. */
  readonly hasRoom: boolean;
  /** What the client asked for at `initialize`. */
  readonly wants: ReadonlySet<string>;
}

/** What a session owns, as far as a connection is concerned. */
export interface SessionResources {
  /** Live notifications go to this outlet from now on; null: to nobody, they are only retained. */
  setOutlet(outlet: Outlet | null): void;
  /** Output may flow again. */
  outputHasRoom(): void;
}

/** Something that belongs to one connection and ends with it: file handles, watches, streams. */
export interface Owned {
  /** Output may flow again. */
  outputHasRoom?(): void;
  close(): void | Promise<void>;
}

/** What a method's function gets besides its parameters. */
export interface CallContext<Resources> {
  readonly resources: Resources;
  /** The thing this connection owns under a key, made when it is first asked for. */
  owned<Thing extends Owned>(key: symbol, create: () => Thing): Thing;
  readonly outlet: Outlet;
  /** Aborted when the connection ends: nobody is left to answer. */
  readonly signal: AbortSignal;
  /** Its lines carry the connection, the request, the client's trace and the labels set so far. */
  readonly log: Logger;
  /** Adds to every line about this request what it is about. */
  label(fields: LogFields): void;
  /** Runs right behind the queuing of this request's answer, so that what it sends arrives after the answer. */
  afterReply(action: () => void): void;
}

export interface ConnectionOptions<Resources> {
  link: Link;
  log: Logger;
  clock: Clock;
  sessions: SessionRegistry<Resources>;
  methods: MethodTable<CallContext<Resources>>;
  environmentInfo: EnvironmentInfo;
  concurrentRequests: number | null;
  /** The handshake is complete. */
  onReady(): void;
  /** Answer what was asked before the peer ended its input, as on stdio, where the end of input is no loss of the peer. */
  answersAfterEnd: boolean;
}

/** How long answers may take to leave once a connection has been told to end. */
const FINAL_ANSWERS_MS = 2000;

/** How long the holder of a session has to show that it lives when another connection asks for the session. */
const PROBE_MS = 5000;

export class Connection<Resources extends SessionResources> implements SessionHolder {
  readonly #options: ConnectionOptions<Resources>;
  readonly #link: Link;
  readonly #log: Logger;
  readonly #scheduler: Scheduler;
  readonly #outbound: OutboundQueue;
  readonly #abandon = new AbortController();
  readonly #owned = new Map<symbol, Owned>();
  #gate: GateState = "new";
  #session: Session<Resources> | null = null;
  #outlet: Outlet | null = null;
  /** What calls share, once there is a session to call in. */
  #surroundings: CallSurroundings<Resources> | null = null;
  #isEnding = false;

  constructor(options: ConnectionOptions<Resources>) {
    this.#options = options;
    this.#link = options.link;
    this.#log = options.log;
    this.#scheduler = new Scheduler({
      maxConcurrent: options.concurrentRequests,
      maxInFlight: MAX_REQUESTS_IN_FLIGHT,
      maxInFlightBytes: MAX_REQUEST_BYTES_IN_FLIGHT,
      maxWaiting: MAX_WAITING_REQUESTS,
    });
    this.#outbound = new OutboundQueue({
      send: (messages) => this.#link.send(messages),
      onRoom: () => {
        this.#session?.resources.outputHasRoom();
        for (const thing of this.#owned.values()) thing.outputHasRoom?.();
      },
      onFailure: (error) => {
        // Of the connection's own failures its end tells.
        if (error instanceof DomainError) this.#log.warn("cannot finish an answer", errorFields(error));
        this.#link.close();
      },
    });
  }

  /** Serves the peer until it is gone. */
  async run(): Promise<LinkEnd> {
    const end = await this.#link.receive((message) => this.#receive(message), () => this.#letGo());
    if (this.#options.answersAfterEnd && end.type === "peerClosed") await this.#finalAnswers();
    this.#letGo();
    for (const thing of this.#owned.values()) await thing.close();
    return end;
  }

  /**
   * Nothing more is heard from this peer or told to it: its session is free for the next connection, though the socket
   * may still be waiting for the peer to close.
   */
  #letGo(): void {
    this.#isEnding = true;
    this.#abandon.abort();
    this.#scheduler.close();
    this.#outbound.close();
    if (this.#session === null) return;
    this.#session.resources.setOutlet(null);
    this.#options.sessions.detach(this.#session, this);
    this.#session = null;
  }

  /** Ends the connection from our side. */
  close(): void {
    this.#isEnding = true;
    this.#link.close();
  }

  probe(): void {
    this.#link.probe(PROBE_MS);
  }

  /** Handles one message; a promise means that no more should be read before it resolves. */
  #receive(text: InboundMessage): void | Promise<void> {
    if (this.#isEnding) return;
    const message: Message = text === null
      ? { type: "malformed", reason: "message is not valid UTF-8" }
      : decodeMessage(text);
    switch (message.type) {
      case "request":
        this.#request(message, text!.length);
        break;
      case "notification":
        this.#notification(message.method);
        break;
      case "malformed":
        this.#log.debug("malformed message", { reason: message.reason });
        this.#replyError(NO_REQUEST_ID, invalidRequest(`failed to parse JSON-RPC message: ${message.reason}`));
        break;
      default:
        this.#violate("answer to a request this server did not send");
    }
    if (this.#scheduler.isFull || this.#outbound.isReplyBacklogged) return this.#untilRoom();
  }

  async #untilRoom(): Promise<void> {
    while (!this.#isEnding && (this.#scheduler.isFull || this.#outbound.isReplyBacklogged)) {
      await this.#scheduler.whenRoom();
      await this.#outbound.whenReplyRoom();
    }
  }

  #request(message: Message & { type: "request" }, bytes: number): void {
    const { method } = message;
    const call = new Call(message, this.#log, this.#surroundings);
    try {
      if (method === "initialize") {
        this.#initialize(call, message.params);
        return;
      }
      const prepared = this.#options.methods.prepare(method, message.params);
      if (prepared === undefined) throw methodNotFound(method);
      const refused = refusal(this.#gate, method, prepared.family);
      if (refused !== null) throw invalidRequest(refused);
      if (prepared.run === null) throw methodNotFound(method);
      const { lane, claims, run } = prepared;
      const accepted = this.#scheduler.submit({ lane, claims, bytes, run: () => this.#run(call, run) });
      if (!accepted) {
        throw invalidRequest(
          `too many waiting requests on this connection: at most ${MAX_WAITING_REQUESTS} may be open at once`,
        );
      }
    } catch (error) {
      this.#fail(call, error);
    }
  }

  /** Runs a method and answers. Synchronous when the method is, so that its answer leaves with the least delay. */
  #run(
    call: Call<Resources>,
    run: NonNullable<PreparedCall<CallContext<Resources>>["run"]>,
  ): void | Promise<void> {
    const succeed = (result: unknown): void | Promise<void> => {
      this.#outbound.pushReply(
        result instanceof EncodedResult || result instanceof StreamedResult
          ? result.encode(call.id)
          : encodeResult(call.id, result),
      );
      call.answered();
      if (result instanceof StreamedResult) return result.done;
    };
    try {
      const result = run(call);
      if (!(result instanceof Promise)) return succeed(result);
      return result.then(succeed).catch((error) => this.#fail(call, error));
    } catch (error) {
      this.#fail(call, error);
    }
  }

  #initialize(call: Call<Resources>, rawParams: unknown): void {
    const params = decodeParams(InitializeParams, rawParams);
    const refused = refusal(this.#gate, "initialize", "");
    if (refused !== null) throw invalidRequest(refused);
    const { sessions, environmentInfo } = this.#options;
    const resumeId = params.resumeSessionId ?? null;
    const session = resumeId === null ? sessions.open(this) : sessions.resume(resumeId, this);
    const outlet = this.#createOutlet(new Set([...params.notifications ?? [], ...params.optionalFields ?? []]));
    this.#session = session;
    this.#outlet = outlet;
    this.#surroundings = {
      resources: session.resources,
      outlet,
      signal: this.#abandon.signal,
      owned: (key, create) => this.#ownedThing(key, create),
    };
    this.#gate = afterInitialize();
    call.log.info(resumeId === null ? "session opened" : "session resumed", {
      session: session.id.slice(0, 8),
      client: params.clientName,
    });
    const result: InitializeResult = { sessionId: session.id, environmentInfo };
    this.#outbound.pushReply(encodeResult(call.id, result));
  }

  #notification(method: string): void {
    const outcome = afterNotification(this.#gate, method);
    if ("violation" in outcome) {
      this.#violate(outcome.violation);
      return;
    }
    const becomesReady = this.#gate !== "ready";
    this.#gate = outcome.state;
    if (!becomesReady) return;
    this.#session!.resources.setOutlet(this.#outlet);
    this.#options.onReady();
  }

  #createOutlet(wants: ReadonlySet<string>): Outlet {
    const outbound = this.#outbound;
    return {
      notify: (method, params) => outbound.pushReply(encodeNotification(method, params)),
      output: (message) => outbound.pushOutput(message),
      get hasRoom() {
        return outbound.hasRoom;
      },
      wants,
    };
  }

  #ownedThing<Thing extends Owned>(key: symbol, create: () => Thing): Thing {
    let thing = this.#owned.get(key);
    if (thing === undefined) this.#owned.set(key, thing = create());
    return thing as Thing;
  }

  #fail(call: Call<Resources>, error: unknown): void {
    call.failed(error);
    this.#replyError(call.id, error);
  }

  #replyError(id: RequestId, error: unknown): void {
    this.#outbound.pushReply(encodeError(id, toWireError(error)));
  }

  /** The peer broke the protocol beyond repair: it is told why, what it had asked before is answered, and that is all. */
  #violate(reason: string): void {
    this.#isEnding = true;
    this.#log.warn("protocol violation", { reason });
    this.#replyError(NO_REQUEST_ID, invalidRequest(reason));
    this.#finalAnswers().then(() => this.#link.close());
  }

  async #finalAnswers(): Promise<void> {
    let cancel = () => {};
    const limit = new Promise<void>((resolve) => {
      cancel = this.#options.clock.setTimer(FINAL_ANSWERS_MS, resolve);
    });
    await Promise.race([limit, this.#scheduler.whenIdle().then(() => this.#outbound.drained())]);
    cancel();
  }
}
