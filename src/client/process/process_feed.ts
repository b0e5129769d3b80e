/**
 * The events of one process in the order of their numbers, each once, even if connections are lost meanwhile.
 *
 * Notifications bring them as they happen. Missing events are fetched with `process/read`: after a lost connection,
 * when a number was skipped, and always for a process of another session, which sends no notifications here. What
 * cannot be fetched any more is reported as a gap. Nothing is fetched while the receiver of the events has no room.
 */

import type { ProcessReadResult } from "../../protocol/process_results.ts";
import type { ProcessRef } from "../../protocol/process_ref.ts";
import { decodeBase64 } from "../base64.ts";
import { OutputGapError, ProtocolError, ServerError } from "../errors.ts";
import type { OutputMessage } from "../session/inbound.ts";
import type { ProcessInbox, Session } from "../session/session.ts";
import type { FeedSink } from "./feed_sink.ts";

export interface FeedOptions {
  readonly session: Session;
  readonly reference: ProcessRef;
  /** Whether this session gets its notifications. */
  readonly isOwn: boolean;
  /** Events up to this one are known already. */
  readonly afterSeq: number;
  readonly sink: FeedSink;
}

/**
 * The size of one answer to `process/read`: large enough to be worth a round trip, small enough not to block a slow
 * line.
 */
const READ_BYTES = 1024 * 1024;
/** How long the server is asked to wait for output of another session's process. */
const POLL_WAIT_MS = 10_000;
/** How much is kept of events that came too early. What is beyond this is fetched again. */
const MAX_HELD_BYTES = 1024 * 1024;
const MAX_HELD_EVENTS = 4096;
/**
 * Some servers send events slightly out of order. This is how long to wait for a skipped number before it is fetched.
 */
const REORDER_MS = 20;

/** An event that came before its turn. */
interface HeldEvent {
  readonly bytes: number;
  apply(): void;
}

/** See the head of the module. */
export class ProcessFeed implements ProcessInbox {
  readonly #session: Session;
  readonly #reference: ProcessRef;
  readonly #isOwn: boolean;
  readonly #sink: FeedSink;
  /** Everything up to this number has been passed on. */
  #lastSeq: number;
  readonly #held = new Map<number, HeldEvent>();
  #heldBytes = 0;
  #repairTimer: ReturnType<typeof setTimeout> | undefined;
  #isFetching = false;
  /** More was missed while a fetch was under way. */
  #mustFetchAgain = false;
  #hasExited = false;
  #isOver = false;
  readonly #stop = new AbortController();
  #stopListening: () => void = () => {};

  /** Begins with notifications at once; reads begin with `fetch`. */
  constructor(options: FeedOptions) {
    this.#session = options.session;
    this.#reference = options.reference;
    this.#isOwn = options.isOwn;
    this.#lastSeq = options.afterSeq;
    this.#sink = options.sink;
    const { processId } = options.reference;
    if (options.isOwn && processId !== undefined) options.session.attach(processId, this);
    this.#stopListening = options.session.listen({
      resumed: () => this.fetch(),
      ended: (error) => this.fail(error),
    });
  }

  get lastSeq(): number {
    return this.#lastSeq;
  }

  /** Nothing more is wanted. Idempotent. */
  close(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    clearTimeout(this.#repairTimer);
    this.#stopListening();
    this.#stop.abort();
    this.#held.clear();
    const { processId } = this.#reference;
    if (this.#isOwn && processId !== undefined) this.#session.detach(processId);
  }

  /** Ends it with an error. */
  fail(error: Error): void {
    if (this.#isOver) return;
    this.close();
    this.#sink.failed(error);
  }

  // ---------------------------------------------------------------- notifications

  output({ seq, stream, chunk }: OutputMessage): void {
    if (this.#isOver) return;
    if (seq === this.#lastSeq + 1) {
      this.#lastSeq = seq;
      this.#sink.output(seq, stream, bytesOf(chunk));
      if (this.#held.size > 0) this.#applyHeld();
    } else if (seq > this.#lastSeq) {
      this.#hold(seq, { bytes: chunk.length, apply: () => this.#sink.output(seq, stream, bytesOf(chunk)) });
    }
  }

  notification(method: string, params: Record<string, unknown>): void {
    const seq = params.seq;
    if (typeof seq !== "number" || seq <= this.#lastSeq || this.#isOver) return;
    const apply = method === "process/exited"
      ? () => this.#exited(params as Partial<ProcessReadResult>)
      : method === "process/closed"
      ? () => this.#closedByNotification()
      : null;
    if (apply === null) return;
    this.#hold(seq, { bytes: 0, apply });
    this.#applyHeld();
  }

  #hold(seq: number, event: HeldEvent): void {
    if (this.#isOver) return;
    if (this.#heldBytes + event.bytes > MAX_HELD_BYTES || this.#held.size >= MAX_HELD_EVENTS) {
      this.#mustFetchAgain = true;
    } else if (!this.#held.has(seq)) {
      this.#held.set(seq, event);
      this.#heldBytes += event.bytes;
    }
    if (this.#isFetching) return;
    this.#repairTimer ??= setTimeout(() => {
      this.#repairTimer = undefined;
      if (this.#held.size > 0 || this.#mustFetchAgain) this.fetch();
    }, REORDER_MS);
  }

  #applyHeld(): void {
    for (;;) {
      const event = this.#held.get(this.#lastSeq + 1);
      if (event === undefined) break;
      this.#lastSeq++;
      this.#release(this.#lastSeq, event);
      event.apply();
    }
    if (this.#held.size > 0 || this.#repairTimer === undefined || this.#mustFetchAgain) return;
    clearTimeout(this.#repairTimer);
    this.#repairTimer = undefined;
  }

  #release(seq: number, event: HeldEvent): void {
    this.#held.delete(seq);
    this.#heldBytes -= event.bytes;
  }

  // ---------------------------------------------------------------- reads

  /** Fetches what is missing. For another session's process: everything, until its end. */
  fetch(): void {
    if (this.#isOver) return;
    if (this.#isFetching) {
      this.#mustFetchAgain = true;
      return;
    }
    this.#isFetching = true;
    this.#fetchAll().then(
      () => this.#isFetching = false,
      (error) => this.#fetchFailed(error),
    );
  }

  async #fetchAll(): Promise<void> {
    while (!this.#isOver) {
      await this.#sink.room();
      if (this.#isOver) return;
      this.#mustFetchAgain = false;
      const afterSeq = this.#lastSeq;
      const result = await this.#session.call("process/read", {
        ...this.#reference,
        afterSeq,
        maxBytes: READ_BYTES,
        ...(this.#isOwn ? {} : { waitMs: POLL_WAIT_MS }),
      }, { signal: this.#stop.signal });
      if (this.#isOver) return;
      this.#take(result);
      if (this.#isOver) return;
      // With a limit of bytes, only an answer without chunks tells of the end.
      if (this.#isOwn && result.chunks.length === 0 && !this.#mustFetchAgain && !this.#isGapAhead()) return;
    }
  }

  /** Whether events that came too early still wait for one that no read has brought. */
  #isGapAhead(): boolean {
    for (const [seq, event] of this.#held) if (seq <= this.#lastSeq) this.#release(seq, event);
    this.#applyHeld();
    return this.#held.size > 0;
  }

  #take(result: ProcessReadResult): void {
    for (const { seq, stream, chunk } of result.chunks) {
      if (seq <= this.#lastSeq) continue;
      this.#skipTo(seq, result);
      this.#lastSeq = seq;
      this.#sink.output(seq, stream, bytesOf(chunk));
      if (this.#isOver) return;
    }
    if (result.chunks.length > 0) return this.#applyHeld();
    // Closed without an exit: the server lost the process, or it never ran.
    const closes = result.closed ? 1 : 0;
    if (result.nextSeq - closes > this.#lastSeq + 1) this.#skipTo(result.nextSeq - closes, result);
    this.#lastSeq = Math.max(this.#lastSeq, result.nextSeq - 1);
    if (result.exited || result.closed) this.#exited(result);
    if (result.closed) this.#closed();
  }

  /** The numbers up to this one, exclusive, will not come: the exit is among them, or output that is lost. */
  #skipTo(seq: number, result: ProcessReadResult): void {
    const missing = seq - this.#lastSeq - 1;
    if (missing <= 0) return;
    const exits = result.exited && !this.#hasExited ? 1 : 0;
    const { droppedBytes } = result;
    const isGap = droppedBytes === undefined ? missing > exits : droppedBytes > 0;
    if (isGap) this.#sink.gap({ afterSeq: this.#lastSeq, droppedBytes: droppedBytes ?? null });
  }

  #fetchFailed(error: unknown): void {
    this.#isFetching = false;
    if (this.#isOver) return;
    if (error instanceof ServerError) {
      const message = `cannot follow the process: the server does not know it any more (${error.message})`;
      this.fail(new OutputGapError(message, { afterSeq: this.#lastSeq, droppedBytes: null }));
    } else this.fail(error instanceof Error ? error : new Error(String(error)));
  }

  // ---------------------------------------------------------------- the end

  #exited(report: Partial<ProcessReadResult>): void {
    if (this.#hasExited) return;
    this.#hasExited = true;
    this.#sink.exited({
      exitCode: report.exitCode ?? null,
      sandboxDenied: report.sandboxDenied ?? false,
      endReason: report.endReason ?? null,
      signal: report.signal ?? null,
      networkDenials: report.networkDenials ?? null,
      failure: report.failure ?? null,
    });
  }

  /** If no exit came before it, the server has lost the process. A read says why. */
  #closedByNotification(): void {
    if (this.#hasExited) this.#closed();
    else this.fetch();
  }

  #closed(): void {
    if (this.#isOver) return;
    this.close();
    this.#sink.closed();
  }
}

function bytesOf(chunk: string): Uint8Array<ArrayBuffer> {
  try {
    return decodeBase64(chunk);
  } catch (error) {
    throw new ProtocolError("cannot read output of a process: not base64", { cause: error });
  }
}
