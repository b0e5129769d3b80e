/**
 * One request from its arrival to its answer: what its method gets, and what the log says about it.
 *
 * There is one for every request, so it only keeps references: a trace context is read and a logger made only when a
 * line is written, and what only a log line needs is not looked at unless such lines are printed.
 */

import { DomainError } from "../errors.ts";
import { MAX_HANDLES } from "../fs/limits.ts";
import { errorFields, type LogFields, type Logger } from "../log.ts";
import { MAX_TRACEPARENT_CHARACTERS } from "../protocol/limits.ts";
import type { AnswerBudget } from "../rpc/answer_budget.ts";
import type { RequestId } from "../rpc/envelope.ts";
import { type TraceContext, traceFields } from "../rpc/trace_context.ts";
import { isUnexpected } from "./wire_error.ts";
import type { CallContext, Outlet, Owned } from "./call_context.ts";

/** What the calls of one connection share after its handshake. */
export interface CallSurroundings<Resources> {
  readonly resources: Resources;
  readonly outlet: Outlet;
  readonly signal: AbortSignal;
  readonly answers: AnswerBudget;
  /** Which files the connection's handles are, as far as the log follows requests: only `fs/open` names them. */
  readonly handlePaths: Map<string, string>;
  owned<Thing extends Owned>(key: symbol, create: () => Thing): Thing;
  parked<Value>(waiting: Promise<Value>): Promise<Value>;
  /** Resolves when nothing of the session is left. */
  endSession(): Promise<void>;
  /** Ends the connection when its answers have left. */
  endConnection(): void;
}

/** The parts of a request's message that outlive its decoding. */
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
  #files: FileNames | null = null;
  #afterReply: (() => void) | null = null;
  /** Bytes taken for its answer. */
  #promisedBytes = 0;
  #isAnswered = false;

  /** Without surroundings it can be refused, but not run. */
  constructor(request: CallRequest, log: Logger, surroundings: CallSurroundings<Resources> | null) {
    this.id = request.id;
    this.method = request.method;
    this.#trace = request.trace;
    this.#log = log;
    this.#surroundings = surroundings;
    this.#isFollowed = log.prints("debug");
    this.#arrivedAtMs = this.#isFollowed ? performance.now() : 0;
    if (this.#isFollowed) {
      this.#labels = processOf(request.params);
      this.#files = filesOf(request);
    }
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
    return this.#log.with({
      request: this.id,
      ...traceFields(this.#trace, MAX_TRACEPARENT_CHARACTERS),
      ...this.#labels,
    });
  }

  label(fields: LogFields): void {
    this.#labels = { ...this.#labels, ...fields };
  }

  afterReply(action: () => void): void {
    this.#afterReply = action;
  }

  promise(answerBytes: number, signal?: AbortSignal): void | Promise<void> {
    const { answers } = this.#inSession;
    const missing = answerBytes - this.#promisedBytes;
    if (missing <= 0) return;
    if (answers.tryTake(missing)) {
      this.#promisedBytes = answerBytes;
      return;
    }
    // A waiting request holds no bytes: otherwise two could wait for each other.
    this.withdraw();
    const taken = answers.take(answerBytes, signal);
    if (taken !== undefined) {
      return taken.then(() => {
        // Other work of this request may have failed meanwhile, and its answer has the bytes that there were then.
        if (this.#isAnswered) answers.give(answerBytes);
        else this.promised(answerBytes);
      });
    }
    this.promised(answerBytes);
  }

  parked<Value>(waiting: Promise<Value>): Promise<Value> {
    return this.#inSession.parked(waiting);
  }

  async endSession(): Promise<void> {
    const { endSession, endConnection } = this.#inSession;
    this.#afterReply = endConnection;
    await endSession();
  }

  withdraw(): void {
    this.#inSession.answers.give(this.#promisedBytes);
    this.#promisedBytes = 0;
  }

  // ---- for the connection

  /** This many bytes were taken from the budget for its answer. */
  promised(answerBytes: number): void {
    this.#promisedBytes = answerBytes;
  }

  /** The bytes taken for its answer, which there is now; the caller is responsible for them from now on. */
  takePromise(): number {
    this.#isAnswered = true;
    const bytes = this.#promisedBytes;
    this.#promisedBytes = 0;
    return bytes;
  }

  /** Its answer, a success, has been queued. */
  answered(): void {
    this.#afterReply?.();
    if (!this.#isFollowed) return;
    this.log.debug("request answered", { method: this.method, tookMs: this.#tookMs });
    const { handle, path } = this.#files ?? {};
    if (this.method === "fs/open" && handle !== undefined && path !== undefined) this.#rememberHandle(handle, path);
    this.#forgetHandle();
  }

  /** Its answer is this error. */
  failed(error: unknown): void {
    const { method } = this;
    if (isUnexpected(error)) this.log.error("request failed unexpectedly", { method, ...errorFields(error) });
    else if (this.#isFollowed) {
      const refusal = error as DomainError;
      const reason = refusalText(method, refusal);
      const { detail } = refusal;
      this.log.debug("request refused", { method, ...this.#named(), reason, detail, tookMs: this.#tookMs });
    }
    this.#forgetHandle();
  }

  /** What it is about, with the path of a handle that was opened before. */
  #named(): FileNames | null {
    const handle = this.#files?.handle;
    const path = handle === undefined ? undefined : this.#surroundings?.handlePaths.get(handle);
    return path === undefined ? this.#files : { path, ...this.#files };
  }

  #rememberHandle(handle: string, path: string): void {
    const { handlePaths } = this.#inSession;
    // One of this name may have been closed while it was being opened. This one is the youngest now.
    handlePaths.delete(handle);
    handlePaths.set(handle, path);
    // A handle that was closed before its open was answered is still here: the bound is what ends it.
    if (handlePaths.size > MAX_HANDLES) handlePaths.delete(handlePaths.keys().next().value!);
  }

  /** A handle is closed even where closing fails, or where nobody waits for the answer. */
  #forgetHandle(): void {
    const handle = this.#files?.handle;
    if (this.method === "fs/close" && handle !== undefined) this.#surroundings?.handlePaths.delete(handle);
  }

  /** Its connection ended before it was done: nobody is left to answer, and no fault is behind it. */
  abandoned(): void {
    if (!this.#isFollowed) return;
    this.log.debug("request abandoned", { method: this.method, tookMs: this.#tookMs });
    this.#forgetHandle();
  }

  get #tookMs(): number {
    return Math.round((performance.now() - this.#arrivedAtMs) * 1000) / 1000;
  }

  get #inSession(): CallSurroundings<Resources> {
    if (this.#surroundings === null) throw new Error(`${this.method} runs before the handshake`);
    return this.#surroundings;
  }
}

/** Which process a request is about. Its parameters may not have been checked yet. */
function processOf(params: unknown): LogFields | null {
  const { processId, uid } = (params ?? {}) as { processId?: unknown; uid?: unknown };
  if (typeof processId === "string") return { process: processId };
  return typeof uid === "string" ? { uid } : null;
}

interface FileNames {
  readonly path?: string;
  readonly from?: string;
  readonly to?: string;
  readonly handle?: string;
}

const NAMING_MEMBERS = [
  ["path", "path"],
  ["sourcePath", "from"],
  ["destinationPath", "to"],
  ["handleId", "handle"],
] as const;

/** Which files a request is about, as the client named them. Null: it is not about files. */
function filesOf({ method, params }: CallRequest): FileNames | null {
  if (!method.startsWith("fs/")) return null;
  const names: Record<string, string> = {};
  for (const [member, field] of NAMING_MEMBERS) {
    const value = ((params ?? {}) as Record<string, unknown>)[member];
    if (typeof value === "string") names[field] = value;
  }
  return names;
}

const SESSION_ID = /\b([0-9a-f]{8})-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi;

/**
 * The refusal of a resume names the session, and anyone who knows its id can take it over: the log has only its
 * beginning.
 */
function refusalText(method: string, error: DomainError): string {
  return method === "initialize" ? error.message.replace(SESSION_ID, "$1") : error.message;
}
