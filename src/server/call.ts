/**
 * One request from its arrival to its answer: what its method is given, and what the log says about it.
 *
 * There is one for every request, so it keeps references only: a trace context is read and a logger made when a line
 * is to be written, and what only a log line needs is not looked at unless such lines are printed.
 */

import { DomainError } from "../errors.ts";
import { errorFields, type LogFields, type Logger } from "../log.ts";
import type { RequestId } from "../rpc/envelope.ts";
import { type TraceContext, traceFields } from "../rpc/trace_context.ts";
import { isUnexpected } from "../rpc/wire_error.ts";
import type { CallContext, Outlet, Owned } from "./connection.ts";

/** What the calls of one connection share once its handshake is complete. */
export interface CallSurroundings<Resources> {
  readonly resources: Resources;
  readonly outlet: Outlet;
  readonly signal: AbortSignal;
  owned<Thing extends Owned>(key: symbol, create: () => Thing): Thing;
}

/** What of a request's message outlives its decoding. */
export interface CallRequest {
  readonly id: RequestId;
  readonly method: string;
  readonly params: unknown;
  readonly trace?: TraceContext;
}

export class Call<Resources> implements CallContext<Resources> {
  readonly id: RequestId;
  readonly method: string;
  readonly #trace: TraceContext | undefined;
  readonly #log: Logger;
  readonly #surroundings: CallSurroundings<Resources> | null;
  readonly #isFollowed: boolean;
  readonly #arrivedAtMs: number;
  #labels: LogFields | null = null;
  #afterReply: (() => void) | null = null;

  /** Without surroundings it can be refused, but not run. */
  constructor(request: CallRequest, log: Logger, surroundings: CallSurroundings<Resources> | null) {
    this.id = request.id;
    this.method = request.method;
    this.#trace = request.trace;
    this.#log = log;
    this.#surroundings = surroundings;
    this.#isFollowed = log.prints("debug");
    this.#arrivedAtMs = this.#isFollowed ? performance.now() : 0;
    if (this.#isFollowed) this.#labels = processOf(request.params);
  }

  // ---- for the method

  get resources(): Resources {
    return this.#inSession.resources;
  }

  get outlet(): Outlet {
    return this.#inSession.outlet;
  }

  get signal(): AbortSignal {
    return this.#inSession.signal;
  }

  get owned(): CallSurroundings<Resources>["owned"] {
    return this.#inSession.owned;
  }

  get log(): Logger {
    return this.#log.with({ request: this.id, ...traceFields(this.#trace), ...this.#labels });
  }

  label(fields: LogFields): void {
    this.#labels = { ...this.#labels, ...fields };
  }

  afterReply(action: () => void): void {
    this.#afterReply = action;
  }

  // ---- for the connection

  /** Its answer, a success, has been queued. */
  answered(): void {
    this.#afterReply?.();
    if (this.#isFollowed) this.log.debug("request answered", { method: this.method, tookMs: this.#tookMs });
  }

  /** Its answer is this error. */
  failed(error: unknown): void {
    const { method } = this;
    if (isUnexpected(error)) this.log.error("request failed unexpectedly", { method, ...errorFields(error) });
    else if (this.#isFollowed) {
      const reason = refusalText(method, error as DomainError);
      this.log.debug("request refused", { method, reason, tookMs: this.#tookMs });
    }
  }

  get #tookMs(): number {
    return Math.round((performance.now() - this.#arrivedAtMs) * 1000) / 1000;
  }

  get #inSession(): CallSurroundings<Resources> {
    if (this.#surroundings === null) throw new Error(`${this.method} runs before the handshake`);
    return this.#surroundings;
  }
}

/** Which process a request is about, whatever else its parameters are: they may not have been checked yet. */
function processOf(params: unknown): LogFields | null {
  const processId = (params as { processId?: unknown } | null | undefined)?.processId;
  return typeof processId === "string" ? { process: processId } : null;
}

const SESSION_ID = /\b([0-9a-f]{8})-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi;

/** The refusal of a resume names the session, and whoever knows its id can take it up: the log has its beginning only. */
function refusalText(method: string, error: DomainError): string {
  return method === "initialize" ? error.message.replace(SESSION_ID, "$1") : error.message;
}
