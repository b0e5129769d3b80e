/**
 * One connection from its first message to its last: decode, gate, schedule, answer.
 *
 * Everything a request does happens through the method table, and everything sent goes through one outbound queue. When
 * the connection ends, waits are abandoned, requests that have not begun are dropped, and the session is detached.
 *
 * More than 300 lines: the steps of a message share the state of one connection.
 */

import type { Clock } from "../clock.ts";
import { DomainError, invalidRequest, methodNotFound } from "../errors.ts";
import { errorFields, type Logger } from "../log.ts";
import type { InitializeParams, InitializeResult } from "../protocol/handshake.ts";
import type { EnvironmentInfo } from "../protocol/environment.ts";
import { LONG_CONTENT } from "../protocol/base64.ts";
import {
  ANSWER_FLOOR_BYTES,
  MAX_ANSWER_BYTES,
  MAX_ANSWER_BYTES_OF_ALL,
  MAX_REQUEST_BYTES_IN_FLIGHT,
  MAX_REQUESTS_IN_FLIGHT,
  MAX_WAITING_REQUESTS,
  MESSAGE_LIMITS,
  OUTBOUND_LIMITS,
} from "../protocol/limits.ts";
import { plainInitialize } from "../protocol/plain_initialize.ts";
import { AnswerBudget, SharedAnswers } from "../rpc/answer_budget.ts";
import {
  decodeMessage,
  type DecodeOptions,
  encodeError,
  encodeResult,
  type Message,
  NO_REQUEST_ID,
  type RequestId,
} from "../rpc/envelope.ts";
import { EncodedResult, StreamedResult } from "../rpc/encoded_result.ts";
import type { InboundMessage, Link, LinkEnd, OutboundMessage } from "../rpc/link.ts";
import type { LateMethods, Methods } from "./late_methods.ts";
import type { PreparedCall } from "./method_table.ts";
import { OutboundQueue } from "../rpc/outbound_queue.ts";
import { Scheduler } from "../rpc/scheduler.ts";
import { toWireError } from "./wire_error.ts";
import { Call, type CallSurroundings } from "./call.ts";
import type { CallContext, Outlet, Owned, SessionResources } from "./call_context.ts";
import { ConnectionOutlet, wishesOf } from "./connection_outlet.ts";
import { afterInitialize, afterNotification, gateRefusal, type GateState } from "./gate.ts";
import { Presence } from "./presence.ts";
import type { Session, SessionHolder, SessionRegistry } from "./sessions.ts";

export interface ConnectionOptions<Resources extends SessionResources> {
  link: Link;
  log: Logger;
  clock: Clock;
  sessions: SessionRegistry<Resources>;
  methods: LateMethods<Methods<CallContext<Resources>, Resources>>;
  /** Requests that need no methods to be loaded. Null: this one does. */
  prepareEarly?: (method: string, params: unknown) => PreparedCall<CallContext<Resources>, Resources> | null;
  environmentInfo: EnvironmentInfo;
  concurrentRequests: number | null;
  /** What all connections have reserved. */
  sharedAnswers?: SharedAnswers;
  /** Resolves when everything else has had a turn. */
  turn?: () => Promise<void>;
  /** The peer has sent something. */
  onMessage?: () => void;
  /** `initialize` was answered: the client's first request comes next. */
  onGreeted(): void;
  /**
   * Answer earlier requests after the peer ended its input, as on stdio, where the end of input does not mean that the
   * peer is gone.
   */
  answersAfterEnd: boolean;
}

const DECODING: DecodeOptions = { limits: MESSAGE_LIMITS, content: LONG_CONTENT };

/** How long answers may take to leave once a connection was told to end. */
const FINAL_ANSWERS_MS = 2000;

/** How long the holder of a session may take to answer a probe when another connection asks for the session. */
const PROBE_MS = 5000;

/** What a connection that lost its session is told; the reference's text. */
const SESSION_TAKEN_OVER = "session has been resumed by another connection";

export class Connection<Resources extends SessionResources> implements SessionHolder {
  readonly #options: ConnectionOptions<Resources>;
  readonly #link: Link;
  readonly #log: Logger;
  readonly #answers: AnswerBudget;
  readonly #scheduler: Scheduler;
  readonly #outbound: OutboundQueue;
  readonly #presence: Presence;
  readonly #abandon = new AbortController();
  readonly #owned = new Map<symbol, Owned>();
  #gate: GateState = "new";
  #session: Session<Resources> | null = null;
  #outlet: Outlet | null = null;
  /** What calls share, once there is a session. */
  #surroundings: CallSurroundings<Resources> | null = null;
  #isEnding = false;
  #isLeaving = false;
  #ownedClosed: Promise<void> | null = null;

  constructor(options: ConnectionOptions<Resources>) {
    this.#options = options;
    this.#link = options.link;
    this.#log = options.log;
    this.#presence = new Presence(options.link, options.clock);
    this.#answers = new AnswerBudget({
      limit: MAX_ANSWER_BYTES,
      floor: ANSWER_FLOOR_BYTES,
      shared: options.sharedAnswers ?? new SharedAnswers(MAX_ANSWER_BYTES_OF_ALL),
    });
    this.#scheduler = new Scheduler({
      maxConcurrent: options.concurrentRequests,
      maxInFlight: MAX_REQUESTS_IN_FLIGHT,
      maxInFlightBytes: MAX_REQUEST_BYTES_IN_FLIGHT,
      maxWaiting: MAX_WAITING_REQUESTS,
      answers: this.#answers,
      ...(options.turn === undefined ? {} : { turn: options.turn }),
    });
    this.#outbound = new OutboundQueue({
      send: (messages) => this.#link.send(messages),
      onRoom: () => {
        this.#session?.resources.outputHasRoom();
        for (const thing of this.#owned.values()) thing.outputHasRoom?.();
      },
      onFailure: (error) => {
        // Socket failures are reported when the connection ends.
        if (error instanceof DomainError) this.#log.warn("cannot finish an answer", errorFields(error));
        this.#link.close();
      },
      limits: OUTBOUND_LIMITS,
      answers: this.#answers,
    });
  }

  /** Serves the peer until it is gone. */
  async run(): Promise<LinkEnd> {
    try {
      const end = await this.#link.receive(
        (message) => this.#receive(message),
        () => this.#letGo(),
        () => this.#peerCloses(),
      );
      if (this.#options.answersAfterEnd) await this.#answerAfterEnd(end);
      return end;
    } finally {
      this.#letGo();
      await this.#ownedClosed;
    }
  }

  get isLeaving(): boolean {
    return this.#isLeaving;
  }

  /**
   * No more requests will come. Earlier ones are answered, but output is kept for the client that resumes the session.
   */
  #peerCloses(): void | Promise<void> {
    this.#isEnding = this.#isLeaving = true;
    this.#session?.resources.setOutlet(null);
    return this.#finalAnswers();
  }

  async #answerAfterEnd(end: LinkEnd): Promise<void> {
    if (end.type === "violation") this.#replyError(NO_REQUEST_ID, invalidRequest(end.reason));
    if (end.type === "peerClosed" || end.type === "violation") await this.#finalAnswers();
  }

  /**
   * Nothing more is received from this peer or sent to it: its session is free for the next connection, though the
   * socket may still wait for the peer to close.
   */
  #letGo(): void {
    this.#isEnding = true;
    this.#abandon.abort();
    this.#scheduler.close();
    this.#outbound.close();
    this.#answers.close();
    this.#ownedClosed ??= this.#closeOwned();
    if (this.#session === null) return;
    this.#session.resources.setOutlet(null);
    this.#options.sessions.detach(this.#session, this);
    this.#session = null;
  }

  /** The session already belongs to another connection, so detaching it here changes nothing. */
  displace(): void {
    this.#letGo();
    // Then the link ends by itself in a moment.
    if (this.#isLeaving) return;
    this.#log.info("session taken over by another connection");
    // Not through the queue, which is closed: its client has given up on this connection.
    this.#link.send([encodeError(NO_REQUEST_ID, toWireError(invalidRequest(SESSION_TAKEN_OVER)))]).catch(() => {
      // A peer that is gone need not be told.
    });
    this.#link.close({ cause: "violation", reason: SESSION_TAKEN_OVER });
  }

  /** Each on its own: one that cannot be closed must not keep others open. */
  async #closeOwned(): Promise<void> {
    const closing = Array.from(this.#owned.values(), async (thing) => await thing.close());
    for (const outcome of await Promise.allSettled(closing)) {
      if (outcome.status === "rejected") {
        this.#log.error("cannot free what a connection held", errorFields(outcome.reason));
      }
    }
  }

  /** Ends the connection from our side. */
  close(): void {
    this.#isEnding = true;
    this.#link.close();
  }

  probe(): void {
    this.#link.probe(PROBE_MS);
  }

  /** Handles one message; a promise means that nothing more should be read before it resolves. */
  #receive(text: InboundMessage): void | Promise<void> {
    if (this.#isEnding) return;
    this.#options.onMessage?.();
    this.#presence.heard();
    try {
      const loading = this.#handle(text);
      if (loading !== undefined) return loading.then(() => this.#untilRoom(), (error) => this.#fault(error));
    } catch (error) {
      this.#fault(error);
      return;
    }
    if (this.#scheduler.isFull || this.#outbound.isReplyBacklogged) return this.#untilRoom();
  }

  #fault(error: unknown): void {
    this.#isEnding = true;
    this.#link.close({ cause: "fault", reason: "internal error" });
    this.#log.error("cannot handle a message", errorFields(error));
  }

  #handle(text: InboundMessage): void | Promise<void> {
    const message: Message = text === null
      ? { type: "malformed", reason: "message is not valid UTF-8" }
      : decodeMessage(text, DECODING);
    switch (message.type) {
      case "request":
        return this.#request(message, text!.length);
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
  }

  async #untilRoom(): Promise<void> {
    while (!this.#isEnding && (this.#scheduler.isFull || this.#outbound.isReplyBacklogged)) {
      await this.#scheduler.whenRoom();
      await this.#outbound.whenReplyRoom();
    }
  }

  /** A promise: the methods are being loaded. Nothing is read meanwhile, so requests keep their order. */
  #request(message: Message & { type: "request" }, bytes: number): void | Promise<void> {
    const { method, params } = message;
    const plain = method === "initialize" ? plainInitialize(params) : null;
    const methods = this.#options.methods.loaded;
    const early = plain === null ? this.#options.prepareEarly?.(method, params) ?? null : null;
    if (methods === null && plain === null && early === null) return this.#requestAfterLoad(message, bytes);
    const call = new Call(message, this.#log, this.#surroundings);
    try {
      if (method === "initialize") {
        this.#initialize(call, plain ?? methods!.decodeInitialize(params));
        return;
      }
      const prepared = early ?? methods!.prepare(method, params);
      if (prepared === undefined) throw methodNotFound(method);
      const refused = gateRefusal(this.#gate, method, prepared.family);
      if (refused !== null) throw invalidRequest(refused);
      const { lane, answerBytes } = prepared;
      const claims = prepared.claims(this.#surroundings!.resources);
      const accepted = this.#scheduler.submit({
        lane,
        claims,
        bytes,
        answerBytes,
        run: () => {
          if (lane === "ordinary") call.promised(answerBytes);
          return this.#run(call, prepared);
        },
      });
      if (!accepted) {
        throw invalidRequest(
          `too many waiting requests on this connection: at most ${MAX_WAITING_REQUESTS} may be open at once`,
        );
      }
    } catch (error) {
      this.#fail(call, error);
    }
  }

  async #requestAfterLoad(message: Message & { type: "request" }, bytes: number): Promise<void> {
    await this.#options.methods.load();
    if (!this.#isEnding) this.#request(message, bytes);
  }

  /** Runs a method and answers. Synchronous when the method is, so that its answer leaves with the least delay. */
  #run(
    call: Call<Resources>,
    prepared: PreparedCall<CallContext<Resources>, Resources>,
  ): void | Promise<void> {
    const succeed = (result: unknown): void | Promise<void> => {
      this.#answer(
        call,
        result instanceof EncodedResult || result instanceof StreamedResult
          ? result.encode(call.id)
          : encodeResult(call.id, result),
      );
      call.answered();
      if (result instanceof StreamedResult) return result.done;
    };
    try {
      const result = prepared.run(call);
      if (!(result instanceof Promise)) return succeed(result);
      return result.then(succeed).catch((error) => this.#fail(call, error));
    } catch (error) {
      this.#fail(call, error);
    }
  }

  #initialize(call: Call<Resources>, params: InitializeParams): void {
    const refused = gateRefusal(this.#gate, "initialize", "");
    if (refused !== null) throw invalidRequest(refused);
    const { sessions, environmentInfo } = this.#options;
    const resumeId = params.resumeSessionId ?? null;
    const takeover = params.takeover ?? false;
    const wait = params.detachTtlMs == null ? {} : { detachTtlMs: params.detachTtlMs };
    const session = resumeId === null
      ? sessions.open(this, wait)
      : sessions.resume(resumeId, this, { takeover, ...wait });
    const outlet = new ConnectionOutlet(this.#outbound, { wants: wishesOf(params), audience: this.#presence });
    this.#session = session;
    this.#outlet = outlet;
    this.#surroundings = {
      resources: session.resources,
      outlet,
      signal: this.#abandon.signal,
      answers: this.#answers,
      handlePaths: new Map(),
      owned: (key, create) => this.#ownedThing(key, create),
      parked: (waiting) => this.#scheduler.parked(waiting),
      endSession: () => sessions.end(session),
      endConnection: () => this.#endAfterAnswers(),
    };
    this.#gate = afterInitialize();
    call.log.info(resumeId === null ? "session opened" : "session resumed", {
      session: session.id.slice(0, 8),
      client: params.clientName,
      ...(resumeId !== null && takeover ? { takeover } : {}),
    });
    const result: InitializeResult = {
      sessionId: session.id,
      environmentInfo,
      ...(outlet.wants.has("detachTtlMs") ? { detachTtlMs: session.detachTtlMs } : {}),
    };
    this.#outbound.pushReply(encodeResult(call.id, result));
    this.#options.onGreeted();
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
    // It is not answered, and the next request comes right behind it. A client whose socket joins small packets would
    // keep that back for 40 ms, until our kernel tells it of the notification.
    this.#link.confirmArrival?.();
  }

  #ownedThing<Thing extends Owned>(key: symbol, create: () => Thing): Thing {
    let thing = this.#owned.get(key);
    if (thing === undefined) {
      this.#owned.set(key, thing = create());
      // A request that outlived its connection asks for it: it gets a closed object.
      if (this.#ownedClosed !== null) this.#ownedClosed = this.#closeOwned();
    }
    return thing as Thing;
  }

  #fail(call: Call<Resources>, error: unknown): void {
    // What the end of the connection interrupts, and whatever says so in between, is no fault.
    if (this.#abandon.signal.aborted && isInterruption(error)) return call.abandoned();
    call.failed(error);
    this.#answer(call, encodeError(call.id, toWireError(error)));
  }

  /** Queues the answer of a call, using the bytes it has reserved. */
  #answer(call: Call<Resources>, message: OutboundMessage): void {
    const promisedBytes = call.takePromise();
    if (promisedBytes > 0) this.#outbound.pushAnswer(message, promisedBytes);
    else this.#outbound.pushReply(message);
  }

  #replyError(id: RequestId, error: unknown): void {
    this.#outbound.pushReply(encodeError(id, toWireError(error)));
  }

  /**
   * The peer broke the protocol for good: it is told why, its earlier requests are answered, and the connection ends.
   */
  #violate(reason: string): void {
    this.#isEnding = this.#isLeaving = true;
    this.#log.warn("protocol violation", { reason });
    this.#replyError(NO_REQUEST_ID, invalidRequest(reason));
    this.#finalAnswers().then(() => this.#link.close({ cause: "violation", reason }));
  }

  /** The session has ended as its client wished: earlier requests are answered, and the connection ends. */
  #endAfterAnswers(): void {
    this.#isEnding = this.#isLeaving = true;
    this.#finalAnswers().then(() => this.#link.close({ cause: "done", reason: "session has ended" }));
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

/** An abort has this name, whoever made it: our signal, or an operation that was stopped by it. */
function isInterruption(error: unknown): boolean {
  return error instanceof Error && error.name === "AbortError";
}
