/**
 * A session with a server that survives its connections.
 *
 * A lost connection is opened again, at once and then with growing waits. The session is resumed and taken over from
 * the connection that was lost. Requests that had not been sent, or may be repeated, are sent again; the others fail
 * with `ConnectionLostError`. Followers (of processes and watches) are told that the connection was lost, and catch up.
 * When the session is gone, or its time is up, everything that waits fails at once with the reason.
 *
 * It knows requests and notifications, but not what they are about.
 *
 * More than 300 lines: it is one state machine, and every part of it changes the same few fields.
 */

import { systemClock } from "../../clock.ts";
import { messageOf } from "../../errors.ts";
import type { EnvironmentInfo } from "../../protocol/environment.ts";
import type { MethodName, MethodTypes } from "../../protocol/method_types.ts";
import {
  abortedBy,
  AbortedError,
  ConnectionLostError,
  ConnectionRefusedError,
  ProtocolError,
  ServerError,
  SessionExpiredError,
  UnauthorisedError,
} from "../errors.ts";
import { within } from "../process/within.ts";
import type { Transport, TransportEnd, TransportLink } from "../link/transport.ts";
import { backOffMs, type BackOffOptions, delay } from "./back_off.ts";
import { type ConnectionState, StateCell } from "./connection_state.ts";
import { handshakeError, initializeParams, readWelcome, type Welcome } from "./handshake.ts";
import { Heartbeat } from "./heartbeat.ts";
import { type OutputMessage, readInbound } from "./inbound.ts";
import { Outbox } from "./outbox.ts";
import { type CallOptions, RequestTable } from "./request_table.ts";

/** Receives the notifications about one process. */
export interface ProcessInbox {
  output(message: OutputMessage): void;
  notification(method: string, params: Record<string, unknown>): void;
}

/** Receives all other notifications, and what happens to the connection. */
export interface SessionListener {
  notification?(method: string, params: Record<string, unknown>): void;
  /** The connection was lost and is back. Notifications in between were missed. */
  resumed?(): void;
  /** No more notifications will come. */
  ended?(error: Error): void;
}

export interface SessionOptions {
  readonly transport: Transport;
  readonly clientName: string;
  /** Asked before every attempt to connect. */
  readonly token: () => string | null | Promise<string | null>;
  readonly resumeSessionId: string | null;
  readonly detachTtlMs: number | null;
  readonly backOff: BackOffOptions;
  /** How long one attempt to connect and shake hands may take. */
  readonly attemptTimeoutMs: number;
  readonly heartbeatMs: number;
  readonly heartbeatTimeoutMs: number;
}

/** Heartbeats have this number. Nobody waits for their answers. */
const HEARTBEAT = '{"id":0,"method":"environment/status"}';
const NO_REQUEST = -1;
const TAKEN_OVER = /resumed by another connection/;
/** How long `session/end` may take when a box is closed. Ending processes with grace takes longer than this at most. */
const END_LIMIT_MS = 10_000;

interface Handshake {
  readonly id: number;
  resolve(result: unknown): void;
  reject(error: Error): void;
}

/** See the head of the module. */
export class Session {
  readonly #options: SessionOptions;
  readonly #requests = new RequestTable();
  readonly #inboxes = new Map<string, ProcessInbox>();
  readonly #listeners = new Set<SessionListener>();
  readonly #state = new StateCell();
  readonly #closing = new AbortController();
  #welcome: Welcome | null = null;
  /** The link that is in use, or on which the handshake is under way. */
  #link: TransportLink | null = null;
  #outbox: Outbox | null = null;
  #isReady = false;
  #handshake: Handshake | null = null;
  #heartbeat: Heartbeat | null = null;
  #ended: Error | null = null;
  /** Whether it was closed on purpose. */
  #isClosing = false;
  /**
   * Attempts to resume that were given up and may still arrive. They would take the session over from our own
   * connection.
   */
  #strayAttempts = 0;

  private constructor(options: SessionOptions) {
    this.#options = options;
  }

  /** Connects, and opens or resumes a session. */
  static async open(options: SessionOptions, signal?: AbortSignal): Promise<Session> {
    const session = new Session(options);
    await session.#connect(options.resumeSessionId, signal);
    return session;
  }

  get sessionId(): string {
    return this.#welcome!.sessionId;
  }

  get environmentInfo(): EnvironmentInfo {
    return this.#welcome!.environmentInfo;
  }

  get detachTtlMs(): number {
    return this.#welcome!.detachTtlMs;
  }

  get state(): ConnectionState {
    return this.#state.current;
  }

  /** Why no more answers come; null while the session lives. */
  get ended(): Error | null {
    return this.#ended;
  }

  onStateChange(listener: (state: ConnectionState) => void): () => void {
    return this.#state.listen(listener);
  }

  /** Whether the server advertises something. */
  has(capability: string): boolean {
    return this.environmentInfo.capabilities[capability] === true;
  }

  // ---------------------------------------------------------------- requests

  call<Name extends MethodName>(
    method: Name,
    params: MethodTypes[Name]["params"],
    options: CallOptions = {},
  ): Promise<MethodTypes[Name]["result"]> {
    return this.request(method, params, options) as Promise<MethodTypes[Name]["result"]>;
  }

  /** The same for methods that the table does not have. */
  request(method: string, params: unknown, options: CallOptions = {}): Promise<unknown> {
    if (this.#ended !== null) return Promise.reject(this.#ended);
    const { signal } = options;
    if (signal?.aborted) return Promise.reject(abortedBy(signal, method));
    const { id, answer } = this.#requests.add(method, params, options);
    if (this.#isReady) this.#requests.send(id, (text) => this.#send(text));
    if (signal === undefined) return answer;
    const abort = () => this.#requests.abandon(id, abortedBy(signal, method));
    signal.addEventListener("abort", abort, { once: true });
    return answer.finally(() => signal.removeEventListener("abort", abort));
  }

  /** Sends notifications about this process there. Call it before the start is requested, so that none is missed. */
  attach(processId: string, inbox: ProcessInbox): void {
    this.#inboxes.set(processId, inbox);
  }

  detach(processId: string): void {
    this.#inboxes.delete(processId);
  }

  listen(listener: SessionListener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  // ---------------------------------------------------------------- the end

  /** Ends the session with its processes, where the server can, or lets it wait for another connection. */
  async close({ endSession }: { endSession: boolean }): Promise<void> {
    if (this.#ended !== null) return;
    this.#isClosing = true;
    if (endSession && this.has("sessionEnd")) {
      const limit = new AbortController();
      const timer = setTimeout(() => limit.abort(), END_LIMIT_MS);
      // It may have ended by itself. Or the connection was lost just now, and then the session expires.
      await this.call("session/end", null, { signal: limit.signal }).catch(() => {});
      clearTimeout(timer);
    }
    this.#end(new AbortedError("the box is closed"));
  }

  /** Everything that waits fails with this, and no more requests are accepted. */
  #end(error: Error): void {
    if (this.#ended !== null) return;
    this.#ended = error;
    this.#closing.abort(error);
    this.#dropLink();
    this.#requests.end(error);
    for (const listener of [...this.#listeners]) listener.ended?.(error);
    this.#listeners.clear();
    this.#inboxes.clear();
    this.#state.set({ state: "closed", error: this.#isClosing ? null : error });
  }

  // ---------------------------------------------------------------- connecting

  /** One attempt. Rejects if it does not lead to a session. */
  async #connect(resumeSessionId: string | null, caller?: AbortSignal): Promise<void> {
    const { transport, attemptTimeoutMs } = this.#options;
    const timeout = new AbortController();
    const cancelTimer = systemClock.setTimer(attemptTimeoutMs, () => timeout.abort());
    const signal = AbortSignal.any([this.#closing.signal, timeout.signal, ...(caller === undefined ? [] : [caller])]);
    let link: TransportLink | null = null;
    try {
      const token = await within(Promise.resolve(this.#options.token()), { timeoutMs: null, signal, what: "token" });
      link = await transport.open({ token, signal });
      const welcome = await this.#shakeHands(link, resumeSessionId, signal);
      this.#welcome = welcome;
      this.#begin();
    } catch (error) {
      if (link !== null && this.#link === link) this.#dropLink();
      if (caller?.aborted) throw abortedBy(caller, `cannot connect to ${transport.name}`);
      if (timeout.signal.aborted) {
        throw new ConnectionRefusedError(`cannot connect to ${transport.name}: no answer in ${attemptTimeoutMs} ms`);
      }
      throw error;
    } finally {
      cancelTimer();
    }
  }

  async #shakeHands(link: TransportLink, resumeSessionId: string | null, signal: AbortSignal): Promise<Welcome> {
    if (signal.aborted) {
      link.close();
      throw abortedBy(signal, "handshake");
    }
    const { clientName, detachTtlMs } = this.#options;
    const options = { clientName, resumeSessionId, detachTtlMs };
    this.#link = link;
    // What cannot be sent is lost with the connection. The end of the connection is reported elsewhere.
    this.#outbox = new Outbox(link, (error) => this.#linkEnded(link, String(error)));
    this.#isReady = false;
    link.receive((message) => this.#receive(link, message)).then(
      (end) => this.#linkEnded(link, reasonOf(end), { isViolation: end.type === "violation" }),
      (error) => this.#linkEnded(link, String(error)),
    );
    const id = this.#requests.takeId();
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.#handshake = { id, resolve, reject };
    const abort = () => reject(abortedBy(signal, "handshake"));
    signal.addEventListener("abort", abort, { once: true });
    try {
      this.#send(`{"id":${id},"method":"initialize","params":${JSON.stringify(initializeParams(options))}}`);
      if (resumeSessionId !== null) this.#strayAttempts++;
      const welcome = readWelcome(await promise);
      this.#strayAttempts = Math.max(0, this.#strayAttempts - 1);
      this.#send('{"method":"initialized","params":{}}');
      return welcome;
    } catch (error) {
      throw error instanceof ServerError ? handshakeError(error, options) : error;
    } finally {
      signal.removeEventListener("abort", abort);
      this.#handshake = null;
    }
  }

  /** The connection is usable: sends what waits, and begins to watch for silence. */
  #begin(): void {
    this.#isReady = true;
    const { heartbeatMs: intervalMs, heartbeatTimeoutMs: timeoutMs } = this.#options;
    // A server that answers requests one by one would seem silent during a long one.
    if (this.has("sessionTakeover")) {
      const link = this.#link!;
      this.#heartbeat = new Heartbeat({
        intervalMs,
        timeoutMs,
        ask: () => this.#send(HEARTBEAT),
        onSilent: (silentMs) => this.#linkEnded(link, `the server was silent for ${silentMs} ms`),
      });
    }
    this.#requests.sendAll((text) => this.#send(text));
  }

  #send(text: string): void {
    this.#outbox?.send(text);
  }

  #dropLink(): void {
    const link = this.#link;
    this.#link = null;
    this.#outbox = null;
    this.#isReady = false;
    this.#heartbeat?.stop();
    this.#heartbeat = null;
    link?.close({ cause: "done", reason: "" });
  }

  // ---------------------------------------------------------------- losing the connection

  #linkEnded(link: TransportLink, reason: string, { isViolation = false } = {}): void {
    if (this.#link !== link) return;
    if (isViolation && this.#isReady) {
      this.#requests.unreadable((method) => {
        return new ProtocolError(`${method}: connection lost, what the server sent cannot be read: ${reason}`);
      });
    }
    const handshake = this.#handshake;
    const wasReady = this.#isReady;
    this.#dropLink();
    if (handshake !== null) handshake.reject(new ConnectionLostError(`handshake: connection lost: ${reason}`));
    else if (wasReady) this.#lost(reason);
  }

  #lost(reason: string): void {
    const { transport } = this.#options;
    this.#requests.connectionLost((method) => {
      return new ConnectionLostError(`${method}: connection lost, outcome unknown: ${reason}`);
    });
    const recover = () => void this.#recover(reason).catch((error) => this.#end(error));
    // The server closes after its answer to `session/end`. That answer may have come already, and not be handled yet.
    if (transport.canReconnect && this.#isClosing) setTimeout(recover);
    else if (transport.canReconnect) recover();
    else {
      const error = new SessionExpiredError(`the connection to ${transport.name} is lost: ${reason}`);
      this.#end(error);
    }
  }

  /** Connects again until the session is resumed or gone. */
  async #recover(firstReason: string): Promise<void> {
    const { transport, backOff } = this.#options;
    const ttlMs = this.detachTtlMs;
    const lostAtMs = performance.now();
    let reason = firstReason;
    let unauthorised = 0;
    for (let attempt = 1; this.#ended === null; attempt++) {
      this.#state.set({ state: "reconnecting", reason, attempt });
      const leftMs = lostAtMs + ttlMs - performance.now();
      if (leftMs <= 0) throw expired(transport.name, ttlMs, reason);
      const waitMs = backOffMs(attempt, backOff);
      if (waitMs > 0) await delay(Math.min(waitMs, leftMs), this.#closing.signal);
      if (this.#ended !== null) return;
      try {
        await this.#connect(this.sessionId);
      } catch (error) {
        if (this.#ended !== null) return;
        if (error instanceof SessionExpiredError || error instanceof ProtocolError) throw error;
        // A token may have expired just now, so it is asked for once more. A second refusal is final.
        if (error instanceof UnauthorisedError && ++unauthorised === 2) throw error;
        reason = messageOf(error);
        continue;
      }
      this.#state.set({ state: "connected" });
      for (const listener of [...this.#listeners]) listener.resumed?.();
      return;
    }
  }

  // ---------------------------------------------------------------- receiving

  #receive(link: TransportLink, message: string | null): void {
    if (this.#link !== link) return;
    this.#heartbeat?.heard();
    try {
      if (message === null) throw new ProtocolError("cannot read a message of the server: not UTF-8");
      this.#dispatch(message);
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      if (this.#handshake !== null) this.#handshake.reject(error);
      else this.#end(error);
    }
  }

  #dispatch(text: string): void {
    const message = readInbound(text);
    switch (message.type) {
      case "output":
        this.#inboxes.get(message.processId)?.output(message);
        return;
      case "result":
        if (this.#handshake?.id === message.id) this.#handshake.resolve(message.result);
        else this.#requests.succeed(message.id, message.result);
        return;
      case "error": {
        const { id, code, message: reason } = message;
        if (this.#handshake?.id === id) this.#handshake.reject(new ServerError("initialize", code, reason));
        else if (id === NO_REQUEST) this.#complained(reason);
        else this.#requests.fail(id, code, reason);
        return;
      }
      case "malformed": {
        const { id, reason } = message;
        // Whose answer it is, is known: the others have theirs.
        if (this.#handshake?.id === id) {
          throw new ProtocolError(`initialize: cannot read the server's answer: ${reason}`);
        }
        if (id === NO_REQUEST) throw new ProtocolError(`cannot read a message of the server: ${reason}`);
        this.#requests.failUnread(id, reason);
        return;
      }
      case "notification": {
        const { method, params } = message;
        const { processId } = params;
        if (typeof processId === "string") this.#inboxes.get(processId)?.notification(method, params);
        for (const listener of [...this.#listeners]) {
          try {
            listener.notification?.(method, params);
          } catch (error) {
            // An error of one listener must not affect the connection or other listeners: it goes to the runtime.
            queueMicrotask(() => {
              throw error;
            });
          }
        }
      }
    }
  }

  /** An error about the connection and not about a request. */
  #complained(reason: string): void {
    if (!TAKEN_OVER.test(reason)) throw new ProtocolError(`the server gave the connection up: ${reason}`);
    if (this.#strayAttempts > 0) {
      this.#strayAttempts = 0;
      this.#linkEnded(this.#link!, reason);
      return;
    }
    const error = new SessionExpiredError(`the session is not ours any more: ${reason}`);
    this.#end(error);
  }
}

function reasonOf(end: TransportEnd): string {
  if (end.type === "peerClosed") return "the server closed the connection";
  if (end.type === "silent") return `the server was silent for ${end.silentMs} ms`;
  return end.type === "closedByUs" ? "closed here" : end.reason;
}

function expired(name: string, ttlMs: number, reason: string): SessionExpiredError {
  return new SessionExpiredError(`${name} was not reached within the ${ttlMs} ms that the session lives: ${reason}`);
}
