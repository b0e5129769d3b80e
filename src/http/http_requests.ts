/**
 * The HTTP requests of one connection: checked, sent, followed through redirects, answered whole or as a stream.
 *
 * Ends with the connection's signal, whatever it is doing. Bounded in number and in memory. Knows nothing of the wire.
 */

import { GatheredBytes } from "../bytes.ts";
import { type Clock, systemClock } from "../clock.ts";
import { DomainError, internalError, invalidParams, invalidRequest, messageOf } from "../errors.ts";
import { type BodyDeltaSink, BodyStreams, Pace } from "./body_streams.ts";
import { Dialer } from "./dialer.ts";
import { exchange, type IncomingResponse } from "./exchange.ts";
import {
  LONG_HEAD_BYTES,
  MAX_BUFFERED_BODY_BYTES,
  MAX_REDIRECTS,
  MAX_REQUESTS_PER_CONNECTION,
  SHORT_BODY_BYTES,
} from "./limits.ts";
import { type HttpHeader, type OutgoingRequest, prepareRequest, type RequestDescription } from "./outgoing_request.ts";
import { redirected } from "./redirect.ts";

export interface HttpRequest extends RequestDescription {
  readonly requestId: string;
  /** For everything, to the end of the body; null: none. */
  readonly timeoutMs: number | null;
  readonly redirectPolicy: "follow" | "stop";
  readonly streamResponse: boolean;
}

export interface ReceivedResponse {
  readonly status: number;
  readonly headers: readonly HttpHeader[];
  /** In pieces whose lengths are multiples of 3, except the last. Empty when the body is streamed. */
  readonly body: Uint8Array<ArrayBuffer>[];
  /** Starts sending the body of a streamed response; to be called once the response itself is on its way. */
  startStream(): void;
}

/** Bytes of bodies that may be in memory at once. */
export interface BodyBudget {
  /** False: there is no room for this many now. */
  tryTake(bytes: number): boolean;
  /** Waits for room. Rejects with the signal's reason, or when the connection ends. */
  take(bytes: number, signal?: AbortSignal): void | Promise<void>;
  give(bytes: number): void;
}

/** Waits until there is room for an answer of this many bytes. */
export type MakeRoom = (answerBytes: number) => void | Promise<void>;

export interface HttpRequestsOptions {
  /** The server's environment: `valueEnvVar`, proxies and certificates come from it. */
  readonly env: Readonly<Record<string, string>>;
  readonly sink: BodyDeltaSink;
  /** The end of the connection. */
  readonly signal: AbortSignal;
  readonly clock?: Clock;
  /** For bodies being gathered. */
  readonly bodies: BodyBudget;
  /** Resolves when everybody else has had a turn. */
  readonly turn?: () => Promise<void>;
  readonly maxBufferedBodyBytes?: number;
  readonly maxRequests?: number;
}

const TIMED_OUT = "operation timed out";

export class HttpRequests {
  readonly #options: HttpRequestsOptions;
  readonly #clock: Clock;
  readonly #dialer: Dialer;
  readonly #streams: BodyStreams;
  readonly #streamIds = new Set<string>();
  #count = 0;

  constructor(options: HttpRequestsOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#dialer = new Dialer(options.env);
    this.#streams = new BodyStreams(options.sink, options.turn);
  }

  /** Requests under way, streams included. */
  get size(): number {
    return this.#count;
  }

  /** To be called when the sink has room again. */
  resume(): void {
    this.#streams.resume();
  }

  /**
   * Rejects with a domain error; any status of the server is a response. A gathered body counts until there is room for
   * it in an answer. Room is made for the head, too, which whoever gets it may encode at once.
   */
  async request(request: HttpRequest, makeRoom: MakeRoom = () => {}): Promise<ReceivedResponse> {
    const outgoing = prepareRequest(request, this.#options.env);
    const release = this.#admit(request);
    const deadline = new Deadline(this.#clock, request.timeoutMs, this.#options.signal);
    const end = (): void => {
      deadline.cancel();
      release();
    };
    try {
      const response = await this.#follow(outgoing, request, deadline);
      if (request.streamResponse) {
        await this.#takeRoom(response, 0, makeRoom).catch((error) => {
          response.close();
          throw error;
        });
        return this.#streamed(request.requestId, response, deadline, end);
      }
      const body = await this.#gather(response, deadline, makeRoom);
      end();
      return { ...headOf(response), body, startStream: () => {} };
    } catch (error) {
      end();
      throw error;
    }
  }

  /** Takes a place, and the id of a stream; the returned function gives them back, once. */
  #admit({ requestId, streamResponse }: HttpRequest): () => void {
    const { maxRequests = MAX_REQUESTS_PER_CONNECTION, signal } = this.#options;
    if (signal.aborted) throw invalidRequest("the connection has ended");
    if (streamResponse && this.#streamIds.has(requestId)) {
      throw invalidParams(`http/request streamResponse requestId \`${requestId}\` is already active`);
    }
    if (this.#count >= maxRequests) {
      throw invalidRequest(`too many http requests on this connection: at most ${maxRequests} may be open at once`);
    }
    this.#count++;
    if (streamResponse) this.#streamIds.add(requestId);
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.#count--;
      if (streamResponse) this.#streamIds.delete(requestId);
    };
  }

  async #follow(
    first: OutgoingRequest,
    { redirectPolicy }: HttpRequest,
    deadline: Deadline,
  ): Promise<IncomingResponse> {
    let request = first;
    for (let redirects = 0;; redirects++) {
      const response = await exchange(request, this.#dialer, deadline.signal, this.#options.turn).catch((error) => {
        throw sendFailure(request.url, error, deadline);
      });
      const next = redirectPolicy === "follow" ? nextRequest(request, response) : null;
      if (next === null) return response;
      response.close();
      if (redirects === MAX_REDIRECTS) throw internalError("http/request failed: too many redirects");
      request = next;
    }
  }

  /** Waits for room for an answer, and for a turn if its head takes long to encode. */
  async #takeRoom({ headers }: IncomingResponse, bodyBytes: number, makeRoom: MakeRoom): Promise<void> {
    const headBytes = encodedHeadBytes(headers);
    await makeRoom(headBytes + bodyBytes);
    // Those that waited for room get it together.
    if (headBytes > LONG_HEAD_BYTES) await this.#options.turn?.();
  }

  /** The whole body, within the bounds of one response and of the connection. */
  async #gather(
    response: IncomingResponse,
    deadline: Deadline,
    makeRoom: MakeRoom,
  ): Promise<Uint8Array<ArrayBuffer>[]> {
    const { body, close } = response;
    const { bodies, maxBufferedBodyBytes = MAX_BUFFERED_BODY_BYTES, turn } = this.#options;
    const gathered = new GatheredBytes();
    const pace = new Pace(turn);
    let takenBytes = SHORT_BODY_BYTES;
    try {
      if (body.length !== null && body.length > takenBytes) {
        if (body.length > maxBufferedBodyBytes) throw tooLarge("the body", maxBufferedBodyBytes);
        // Nothing is read meanwhile, so the server waits too.
        await bodies.take(body.length - SHORT_BODY_BYTES, deadline.signal);
        takenBytes = body.length;
      }
      for (let piece = await body.read(); piece !== null; piece = await body.read()) {
        gathered.add(piece);
        if (gathered.length > maxBufferedBodyBytes) throw tooLarge("the body", maxBufferedBodyBytes);
        // A body of unknown length cannot wait: it might wait for one that waits for it.
        while (gathered.length > takenBytes) {
          if (!bodies.tryTake(SHORT_BODY_BYTES)) throw tooManyBodies();
          takenBytes += SHORT_BODY_BYTES;
        }
        if (pace.isOver) await pace.rest();
      }
      close();
      deadline.cancel();
      await this.#takeRoom(response, gathered.length, makeRoom);
      return gathered.takePieces();
    } catch (error) {
      if (error instanceof DomainError) throw error;
      throw internalError(`failed to read http/request response body: ${bodyFailure(error, deadline)}`, error);
    } finally {
      close();
      bodies.give(takenBytes - SHORT_BODY_BYTES);
    }
  }

  #streamed(requestId: string, response: IncomingResponse, deadline: Deadline, end: () => void): ReceivedResponse {
    const { signal } = this.#options;
    const finish = (): void => {
      signal.removeEventListener("abort", finish);
      response.close();
      end();
    };
    // Also when the stream is never started because the connection ended first.
    signal.addEventListener("abort", finish);
    if (signal.aborted) finish();
    const startStream = (): void => {
      const describeFailure = (error: unknown): string => bodyFailure(error, deadline);
      this.#streams.pump({ requestId, body: response.body, signal, describeFailure }).then(finish);
    };
    return { ...headOf(response), body: [], startStream };
  }
}

/** A time limit and the end of the connection, as one signal that remembers which it was. */
class Deadline {
  readonly #controller = new AbortController();
  readonly #outer: AbortSignal;
  readonly #onOuterAbort = (): void => this.#controller.abort();
  readonly #cancelTimer: () => void = () => {};
  hasPassed = false;

  constructor(clock: Clock, timeoutMs: number | null, outer: AbortSignal) {
    this.#outer = outer;
    outer.addEventListener("abort", this.#onOuterAbort);
    if (outer.aborted) this.#controller.abort();
    if (timeoutMs === null) return;
    this.#cancelTimer = clock.setTimer(timeoutMs, () => {
      this.hasPassed = true;
      this.#controller.abort();
    });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  cancel(): void {
    this.#cancelTimer();
    this.#outer.removeEventListener("abort", this.#onOuterAbort);
  }
}

function nextRequest(request: OutgoingRequest, response: IncomingResponse): OutgoingRequest | null {
  try {
    return redirected(request, response);
  } catch (error) {
    response.close();
    throw error;
  }
}

/** What the head takes in an answer at most: six characters for each that is not ASCII, and the members' names. */
function encodedHeadBytes(headers: readonly HttpHeader[]): number {
  return headers.reduce((sum, { name, value }) => sum + 6 * (name.length + value.length) + 32, 0);
}

function headOf({ status, headers }: IncomingResponse): Pick<ReceivedResponse, "status" | "headers"> {
  return { status, headers };
}

/** The beginning is the reference's text; it leaves the cause out. */
function sendFailure(url: URL, error: unknown, deadline: Deadline): DomainError {
  if (error instanceof DomainError) return error;
  const cause = deadline.hasPassed ? TIMED_OUT : messageOf(error);
  return internalError(`http/request failed: error sending request for url (${url.href}): ${cause}`, error);
}

function bodyFailure(error: unknown, deadline: Deadline): string {
  return `error decoding response body: ${deadline.hasPassed ? TIMED_OUT : messageOf(error)}`;
}

function tooManyBodies(): DomainError {
  return internalError(
    "http/request failed: the bodies of all open requests exceed the limit for whole answers; set streamResponse",
  );
}

function tooLarge(what: string, maxBytes: number): DomainError {
  return internalError(
    `http/request failed: ${what} exceeds the limit of ${maxBytes} bytes for a whole answer; set streamResponse`,
  );
}
