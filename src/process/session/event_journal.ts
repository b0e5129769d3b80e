/**
 * The numbered events of one process: each gets the next sequence number, is retained as far as the caps allow, and
 * goes to the session's sink.
 *
 * Also where the flow is controlled. Whenever the sink has no room, the child's output is paused. Exit and close are
 * told even without room: they are small, and there is one of each. With a window nothing is dropped before it was
 * acknowledged, and the child waits when the window is full.
 */

import { MAX_OUTPUT_CHUNK_BYTES, type NetworkDenial, type OutputStream, type SpawnedProcess } from "../backend.ts";
import { AckWindow, type AckWindowOptions } from "./ack_window.ts";
import type { EventRouter, StalledSource } from "./event_router.ts";
import type { ProcessEvent } from "./events.ts";
import { MAX_RETAINED_CHUNKS, MIN_CHUNK_BYTES, MIN_CHUNKS_PER_RETENTION } from "../limits.ts";
import { chunkCost, type OutputChunk, OutputLog, withoutPinning } from "./output_log.ts";
import type { OutputGap, ProcessExit } from "./process_views.ts";
import { Transcript, type TranscriptText } from "./transcript.ts";

export interface EventJournalOptions {
  readonly processId: string;
  readonly router: EventRouter;
  readonly retainedOutputBytes: number;
  /** Null: the newest output is kept, and the child waits for no acknowledgement. */
  readonly window: Pick<AckWindowOptions, "clock" | "reserve" | "windowBytes" | "detachedBytes"> | null;
  /** The child may write on after it had to wait. */
  onResumed(): void;
}

export class EventJournal implements StalledSource {
  readonly #processId: string;
  readonly #router: EventRouter;
  readonly #maxChunkBytes: number;
  readonly #log: OutputLog;
  readonly #transcript: Transcript;
  #source: Pick<SpawnedProcess, "pauseOutput" | "resumeOutput"> | null = null;
  readonly #onResumed: () => void;
  /** Null: nothing is waited for, or not any more. */
  #window: AckWindow | null;
  #acknowledgedSeq = 0;
  /** For room at the sink. */
  #isPaused = false;
  /** For an acknowledgement. */
  #waitsForAck = false;
  #nextSeq = 1;

  constructor(options: EventJournalOptions) {
    const { processId, router, retainedOutputBytes, window } = options;
    this.#processId = processId;
    this.#onResumed = options.onResumed;
    this.#window = window === null
      ? null
      : new AckWindow({ ...window, isAway: router.sink === null, onRoom: () => this.#goOnIfRoom() });
    this.#router = router;
    const share = Math.floor(retainedOutputBytes / MIN_CHUNKS_PER_RETENTION);
    this.#maxChunkBytes = Math.min(MAX_OUTPUT_CHUNK_BYTES, Math.max(MIN_CHUNK_BYTES, share));
    const transcript = this.#transcript = new Transcript(retainedOutputBytes);
    this.#log = new OutputLog({
      maxBytes: retainedOutputBytes,
      maxChunks: MAX_RETAINED_CHUNKS,
      holdsUnacknowledged: window !== null,
      onDropped: (chunk) => transcript.dropped(chunk),
    });
  }

  /** The number the next event will have. */
  get nextSeq(): number {
    return this.#nextSeq;
  }

  get isPaused(): boolean {
    return this.#isPaused || this.#waitsForAck;
  }

  get waitsForAck(): boolean {
    return this.#waitsForAck;
  }

  /** Null: nothing is waited for. */
  get window(): AckWindow | null {
    return this.#window;
  }

  /** Everything so far was acknowledged, or need not be. */
  get isAcknowledged(): boolean {
    return this.#window === null || this.#acknowledgedSeq >= this.#nextSeq - 1;
  }

  get retainedOutput(): Iterable<OutputChunk> {
    return this.#log;
  }

  /** What the output costs in memory, about. */
  get allocatedBytes(): number {
    return this.#log.allocatedBytes + this.#transcript.allocatedBytes;
  }

  // ---- events

  setSource(source: Pick<SpawnedProcess, "pauseOutput" | "resumeOutput">): void {
    this.#source = source;
  }

  started(): void {
    this.#send({ type: "started", processId: this.#processId });
  }

  output(stream: OutputStream, bytes: Uint8Array<ArrayBuffer>): void {
    if (bytes.length <= this.#maxChunkBytes) {
      this.#addChunk(stream, withoutPinning(bytes));
      return;
    }
    for (let at = 0; at < bytes.length; at += this.#maxChunkBytes) {
      this.#addChunk(stream, bytes.slice(at, at + this.#maxChunkBytes));
    }
  }

  exited(exit: ProcessExit, networkDenials: readonly NetworkDenial[] | null): void {
    this.#send({ type: "exited", processId: this.#processId, seq: this.#nextSeq++, exit, networkDenials });
  }

  /** The last event. */
  closed(): void {
    this.#send({ type: "closed", processId: this.#processId, seq: this.#nextSeq++ });
    this.forgetSource();
    this.#transcript.trim();
  }

  // ---- flow

  resumeOutput(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    if (!this.#waitsForAck) this.#goOn();
  }

  /** The client is done with everything up to this number. */
  acknowledge(seq: number): void {
    if (this.#window === null || seq <= this.#acknowledgedSeq) return;
    this.#acknowledgedSeq = seq;
    this.#window.acknowledge(this.#log.acknowledge(seq));
    this.#goOnIfRoom();
  }

  /** The session has lost its client, or got one. */
  setAway(isAway: boolean): void {
    this.#window?.setAway(isAway);
    this.#goOnIfRoom();
  }

  /** The child was killed: what it had written before is still taken. */
  admitLastWords(): void {
    this.#window?.admitLastWords();
    this.#goOnIfRoom();
  }

  /** Acknowledgements are over: the newest output is kept from now on, and the child waits for nothing. */
  dropWindow(): void {
    if (this.#window === null) return;
    this.#window.release();
    this.#window = null;
    this.#log.acknowledge(Infinity);
    this.#goOnIfRoom();
  }

  /** The log is complete and acknowledged: takes as little memory as it can. */
  pack(): void {
    this.#log.pack();
  }

  /** Pauses and resumes the child no more. */
  forgetSource(): void {
    this.#source = null;
    this.#router.removeStalled(this);
  }

  // ---- reading

  hasOutputAfter(seq: number): boolean {
    return this.#log.hasAfter(seq);
  }

  /** With a byte budget the next number is a cursor: it follows the last chunk returned, if there is one. */
  read(afterSeq: number, maxBytes: number | null): { chunks: OutputChunk[]; nextSeq: number; gap: OutputGap } {
    // What a client that was away has not read may be many times what fits into an answer.
    const limit = this.#window === null ? maxBytes : Math.min(maxBytes ?? Infinity, this.#window.windowBytes);
    const chunks = this.#log.read(afterSeq, limit);
    const end = chunks.at(-1);
    const isPart = maxBytes !== null || (end !== undefined && this.#log.hasAfter(end.seq));
    const last = isPart ? end : undefined;
    const gap = { firstSeq: this.#log.firstSeq, droppedBytes: this.#log.droppedBytesAfter(afterSeq) };
    return { chunks, nextSeq: last === undefined ? this.#nextSeq : last.seq + 1, gap };
  }

  transcript(): TranscriptText {
    return this.#transcript.text(this.#log);
  }

  // ---- inside

  #addChunk(stream: OutputStream, bytes: Uint8Array<ArrayBuffer>): void {
    const chunk: OutputChunk = { seq: this.#nextSeq++, stream, bytes };
    this.#transcript.retained(chunk);
    this.#log.append(chunk);
    if (this.#window !== null) this.#count(chunk, this.#window);
    const mayGoOn = this.#send({ type: "output", processId: this.#processId, chunk });
    if (!mayGoOn && !this.#isPaused) this.#pause();
  }

  /** False: no more output until there is room. */
  #send(event: ProcessEvent): boolean {
    const sink = this.#router.sink;
    if (sink === null) return true;
    sink.event(event);
    return sink.hasRoom;
  }

  #count(chunk: OutputChunk, window: AckWindow): void {
    window.add(chunkCost(chunk));
    if (this.#waitsForAck || !window.isFull()) return;
    this.#waitsForAck = true;
    if (!this.#isPaused) this.#source?.pauseOutput();
  }

  #goOnIfRoom(): void {
    if (!this.#waitsForAck || this.#window?.isFull() === true) return;
    this.#waitsForAck = false;
    if (!this.#isPaused) this.#goOn();
  }

  #goOn(): void {
    this.#onResumed();
    this.#source?.resumeOutput();
  }

  #pause(): void {
    this.#isPaused = true;
    if (!this.#waitsForAck) this.#source?.pauseOutput();
    this.#router.addStalled(this);
  }
}
