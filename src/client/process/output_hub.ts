/**
 * Gives the output of one process to its readers, and reports how much of it has been read.
 *
 * At first all output is kept, and the process waits when too much is kept. As soon as one stream is read, or the end
 * is awaited, the process must not wait for the other streams: a little of them is kept for a late reader, and the rest
 * goes into a bounded snapshot.
 */

import { OutputGapError } from "../errors.ts";
import { BoundedOutput } from "./bounded_output.ts";
import { EventQueue, type ProcessEvent } from "./event_queue.ts";
import { OutputBuffer, type OutputReceiver } from "./output_buffer.ts";
import type { OutputStream } from "./output_stream.ts";
import type { OutputGap, StreamName } from "./feed_sink.ts";

/** What becomes of output that is not read. */
export type OverflowRule =
  /** The server holds it. Its window bounds what is kept here. */
  | { readonly type: "acknowledged" }
  /** The newest is kept, and a gap is reported. */
  | { readonly type: "latest"; readonly maxBytes: number };

/** Sees output without removing it. */
export type OutputTap = (name: StreamName, bytes: Uint8Array<ArrayBuffer>) => void;

/** How much of each drained stream is kept. */
const SNAPSHOT_BYTES = 1024 * 1024;
/** How much is kept of a stream that nobody reads while the process must not wait for it. */
const UNDECIDED_BYTES = 128 * 1024;
/** Nothing more is fetched while this much is unread. */
const ROOM_BYTES = 1024 * 1024;

/** See the head of the module. */
export class OutputHub {
  readonly #rule: OverflowRule;
  readonly #onTaken: (bytes: number) => void;
  readonly #buffers: Readonly<Record<StreamName, OutputBuffer>>;
  readonly #snapshots: Readonly<Record<StreamName, BoundedOutput>>;
  #lastSeq: number;
  /** Output up to this number may have gone into the snapshots. */
  #drainedSeq = 0;
  #events: EventQueue | null = null;
  readonly #taps: OutputTap[] = [];
  /** The end of the process is awaited, or one of its streams is read: it must not wait for the other streams. */
  #mustFlow = false;
  /** Null: it goes on. */
  #end: { readonly error: Error | null } | null = null;
  /** Exit, close and gaps that came before anybody asked for events: a process may end before its starter looks. */
  #early: ProcessEvent[] = [];
  #waitingForRoom: (() => void)[] = [];

  constructor(rule: OverflowRule, afterSeq: number, onTaken: (bytes: number) => void) {
    this.#rule = rule;
    this.#lastSeq = afterSeq;
    this.#onTaken = onTaken;
    const buffer = () => new OutputBuffer((bytes) => this.#taken(bytes));
    this.#buffers = { stdout: buffer(), stderr: buffer(), pty: buffer() };
    this.#snapshots = {
      stdout: new BoundedOutput(SNAPSHOT_BYTES),
      stderr: new BoundedOutput(SNAPSHOT_BYTES),
      pty: new BoundedOutput(SNAPSHOT_BYTES),
    };
  }

  /** The snapshot of a stream that was drained. */
  snapshot(name: StreamName): BoundedOutput {
    return this.#snapshots[name];
  }

  /** All readers have read everything up to this number. */
  get takenSeq(): number {
    let first = this.#events?.firstSeq ?? this.#lastSeq + 1;
    for (const name of NAMES) {
      const buffer = this.#buffers[name];
      if (this.#mustFlow && buffer.isUndecided) continue;
      const seq = buffer.firstSeq;
      if (seq !== null && seq < first) first = seq;
    }
    return first - 1;
  }

  /** Null: nothing was lost. Otherwise what had to be dropped. */
  add(seq: number, name: StreamName, bytes: Uint8Array<ArrayBuffer>): OutputGap | null {
    this.#lastSeq = seq;
    const buffer = this.#buffers[name];
    for (const tap of this.#taps) tap(name, bytes);
    this.#events?.add({ type: "output", seq, stream: name === "pty" ? "terminal" : name, bytes });
    buffer.add(seq, bytes);
    const isKeptAnyway = this.#mustFlow && buffer.isUndecided;
    if (isKeptAnyway && buffer.queuedBytes > UNDECIDED_BYTES) this.#drain(name);
    if (this.#events === null && (buffer.queuedBytes === 0 || isKeptAnyway)) this.#taken(bytes.length);
    if (this.#rule.type === "acknowledged") return null;
    const { maxBytes } = this.#rule;
    if (this.#queuedBytes <= maxBytes) return null;
    const afterSeq = this.takenSeq;
    const dropped = Math.max(buffer.dropOldest(maxBytes), this.#events?.dropOldest(maxBytes) ?? 0);
    return dropped === 0 ? null : { afterSeq, droppedBytes: dropped };
  }

  /** An event without output. */
  passed(seq: number, event: ProcessEvent): void {
    this.#lastSeq = Math.max(this.#lastSeq, seq);
    this.#tell(event);
    this.#taken(0);
  }

  /** Output is lost. Streams end with an error, because they cannot show a gap. Events can: the gap is one of them. */
  gap({ droppedBytes, afterSeq }: OutputGap): void {
    const much = droppedBytes === null ? "an unknown number of" : droppedBytes;
    const message = `cannot read all output: ${much} bytes after event ${afterSeq} were not retained`;
    for (const name of NAMES) this.#buffers[name].end(new OutputGapError(message, { droppedBytes, afterSeq }));
    this.#tell({ type: "gap", seq: this.#lastSeq, droppedBytes });
  }

  #tell(event: ProcessEvent): void {
    if (this.#events !== null) return this.#events.add(event);
    // One gap says as much as many, and they must not pile up for a process that nobody follows.
    if (event.type !== "gap" || !this.#early.some(({ type }) => type === "gap")) this.#early.push(event);
  }

  /** No more will come. */
  end(error: Error | null): void {
    this.#end = { error };
    for (const name of NAMES) this.#buffers[name].end(error);
    this.#events?.end(error);
    this.#wakeAll();
  }

  /** From now on the process must not wait for streams that nobody reads. */
  letFlow(): void {
    if (this.#mustFlow) return;
    this.#mustFlow = true;
    for (const name of NAMES) {
      const buffer = this.#buffers[name];
      if (buffer.isUndecided && buffer.queuedBytes > UNDECIDED_BYTES) this.#drain(name);
    }
    this.#taken(0);
  }

  /** One of the streams. The others flow from now on. */
  stream(name: StreamName): OutputStream {
    const { stream } = this.#buffers[name];
    this.letFlow();
    return stream;
  }

  /** From now on gives a stream to a receiver. */
  receive(name: StreamName, receiver: OutputReceiver): void {
    this.#buffers[name].receive(receiver);
    this.letFlow();
    this.#taken(0);
  }

  /** Shows all output to a listener without removing it: first what is kept, then what comes. */
  tap(tap: OutputTap): void {
    this.#taps.push(tap);
    for (const name of NAMES) {
      const snapshot = this.#snapshots[name];
      if (snapshot.totalBytes > 0) tap(name, snapshot.bytes());
    }
    const kept = NAMES.flatMap((name) => this.#buffers[name].kept().map((chunk) => ({ name, ...chunk })));
    for (const { name, bytes } of kept.sort((a, b) => a.seq - b.seq)) tap(name, bytes);
    this.letFlow();
  }

  /** All events from now on, with what was not read so far. What has gone into the snapshots is reported as a gap. */
  events(): EventQueue {
    if (this.#events !== null) return this.#events;
    const events = this.#events = new EventQueue((bytes) => this.#taken(bytes));
    const drained = NAMES.reduce((sum, name) => sum + this.#snapshots[name].totalBytes, 0);
    if (drained > 0) events.add({ type: "gap", seq: this.#drainedSeq, droppedBytes: drained });
    const undecided = NAMES.filter((name) => this.#buffers[name].isUndecided);
    const chunks = undecided.flatMap((name) => this.#buffers[name].takeAll().map((chunk) => ({ name, ...chunk })));
    const outputs = chunks.map(({ name, seq, bytes }): ProcessEvent => {
      return { type: "output", seq, stream: name === "pty" ? "terminal" : name, bytes };
    });
    for (const event of [...outputs, ...this.#early.splice(0)].sort((a, b) => a.seq - b.seq)) events.add(event);
    if (this.#end !== null) events.end(this.#end.error);
    for (const name of undecided) this.#buffers[name].receive(() => {});
    this.letFlow();
    return events;
  }

  /** Resolves when there is room for more, or nothing more will come. */
  async room(): Promise<void> {
    while (this.#queuedBytes >= ROOM_BYTES && this.#end === null) {
      await new Promise<void>((resolve) => this.#waitingForRoom.push(resolve));
    }
  }

  get #queuedBytes(): number {
    const { stdout, stderr, pty } = this.#buffers;
    return Math.max(stdout.queuedBytes + stderr.queuedBytes + pty.queuedBytes, this.#events?.queuedBytes ?? 0);
  }

  #drain(name: StreamName): void {
    const snapshot = this.#snapshots[name];
    this.#buffers[name].receive((bytes) => {
      snapshot.add(bytes);
      this.#drainedSeq = this.#lastSeq;
    });
  }

  #taken(bytes: number): void {
    this.#onTaken(bytes);
    if (this.#waitingForRoom.length > 0 && this.#queuedBytes < ROOM_BYTES) this.#wakeAll();
  }

  #wakeAll(): void {
    for (const wake of this.#waitingForRoom.splice(0)) wake();
  }
}

const NAMES = ["stdout", "stderr", "pty"] as const;
