/**
 * The numbered events of one process: each gets the next sequence number, is retained as far as the caps allow, and
 * goes to the session's sink.
 *
 * Also where the flow is controlled. Events are held back until the answer to the start has been queued, so that a
 * client never hears of a process it has not been promised; meanwhile, and whenever the sink has no room, the child's
 * output is paused. Exit and close are told even without room: they are small, and there is one of each.
 */

import { MAX_OUTPUT_CHUNK_BYTES, type NetworkDenial, type OutputStream, type SpawnedProcess } from "./backend.ts";
import type { EventRouter, StalledSource } from "./event_router.ts";
import type { ProcessEvent } from "./events.ts";
import { MAX_RETAINED_CHUNKS, MIN_CHUNK_BYTES, MIN_CHUNKS_PER_RETENTION } from "./limits.ts";
import { type OutputChunk, OutputLog, withoutPinning } from "./output_log.ts";
import type { ProcessExit } from "./process_views.ts";
import { Transcript, type TranscriptText } from "./transcript.ts";

export interface EventJournalOptions {
  readonly processId: string;
  readonly router: EventRouter;
  readonly retainedOutputBytes: number;
}

export class EventJournal implements StalledSource {
  readonly #processId: string;
  readonly #router: EventRouter;
  readonly #maxChunkBytes: number;
  readonly #log: OutputLog;
  readonly #transcript: Transcript;
  #source: Pick<SpawnedProcess, "pauseOutput" | "resumeOutput"> | null = null;
  /** Null once released. */
  #held: ProcessEvent[] | null = [];
  #isPaused = false;
  #nextSeq = 1;

  constructor(options: EventJournalOptions) {
    const { processId, router, retainedOutputBytes } = options;
    this.#processId = processId;
    this.#router = router;
    const share = Math.floor(retainedOutputBytes / MIN_CHUNKS_PER_RETENTION);
    this.#maxChunkBytes = Math.min(MAX_OUTPUT_CHUNK_BYTES, Math.max(MIN_CHUNK_BYTES, share));
    this.#log = new OutputLog({ maxBytes: retainedOutputBytes, maxChunks: MAX_RETAINED_CHUNKS });
    this.#transcript = new Transcript(retainedOutputBytes);
  }

  /** The number the next event will have. */
  get nextSeq(): number {
    return this.#nextSeq;
  }

  get isPaused(): boolean {
    return this.#isPaused;
  }

  get retainedOutput(): Iterable<OutputChunk> {
    return this.#log;
  }

  // ---- events

  started(source: Pick<SpawnedProcess, "pauseOutput" | "resumeOutput">): void {
    this.#source = source;
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
  }

  // ---- flow

  /** The answer to the start is queued: what was held follows it. */
  release(): void {
    const held = this.#held;
    if (held === null) return;
    this.#held = null;
    let hasRoom = true;
    for (const event of held) hasRoom = this.#send(event);
    if (hasRoom) this.resumeOutput();
    else if (this.#isPaused) this.#router.addStalled(this);
  }

  /** The connection that awaited the answer is gone: what was held is not sent to the next one, which reads. */
  discardHeld(): void {
    if (this.#held === null) return;
    this.#held = null;
    this.resumeOutput();
  }

  resumeOutput(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#source?.resumeOutput();
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
  read(afterSeq: number, maxBytes: number | null): { chunks: OutputChunk[]; nextSeq: number } {
    const chunks = this.#log.read(afterSeq, maxBytes);
    const last = maxBytes === null ? undefined : chunks.at(-1);
    return { chunks, nextSeq: last === undefined ? this.#nextSeq : last.seq + 1 };
  }

  transcript(): TranscriptText {
    return this.#transcript.text();
  }

  // ---- inside

  #addChunk(stream: OutputStream, bytes: Uint8Array<ArrayBuffer>): void {
    const chunk: OutputChunk = { seq: this.#nextSeq++, stream, bytes };
    this.#log.append(chunk);
    this.#transcript.append(stream, bytes);
    const mayGoOn = this.#send({ type: "output", processId: this.#processId, chunk });
    if (!mayGoOn && !this.#isPaused) this.#pause();
  }

  /** False: no more output, until the release or until there is room. */
  #send(event: ProcessEvent): boolean {
    if (this.#held !== null) {
      this.#held.push(event);
      return false;
    }
    const sink = this.#router.sink;
    if (sink === null) return true;
    sink.event(event);
    return sink.hasRoom;
  }

  #pause(): void {
    this.#isPaused = true;
    this.#source?.pauseOutput();
    if (this.#held === null) this.#router.addStalled(this);
  }
}
