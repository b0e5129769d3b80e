/**
 * The account of one process as a client keeps it across lost connections: live notifications and what is read after
 * each resume, merged by sequence number.
 *
 * Fails as soon as the two contradict each other: a number with two contents, a gap in the notifications of one
 * connection, anything after `closed`, or an end that does not add up.
 */

import assert from "node:assert/strict";
import type { OutputStreamName, ProcessReadResult } from "../../src/protocol/process.ts";
import { concatBytes } from "../../src/bytes.ts";
import type { Notification } from "../support/rpc_client.ts";

/** Far longer than any process here runs, cuts included. */
const WAIT_LIMIT_MS = 60_000;

/** What has a sequence number. */
export type ProcessNotification = Extract<
  Notification,
  { method: "process/output" | "process/exited" | "process/closed" }
>;

interface Chunk {
  readonly stream: OutputStreamName;
  readonly base64: string;
}

export class ProcessLedger {
  readonly processId: string;
  readonly #chunks = new Map<number, Chunk>();
  readonly #watchers = new Set<() => void>();
  #exitCode: number | null = null;
  #exitedSeq: number | null = null;
  #closedSeq: number | null = null;
  /** The last number the present connection told live; null before its first. */
  #liveSeq: number | null = null;
  #failure: unknown = null;

  constructor(processId: string) {
    this.processId = processId;
  }

  get exitCode(): number | null {
    return this.#exitCode;
  }

  /** Closed, and nothing is missing: `exited` and `closed` are the only two events that are not output. */
  get isComplete(): boolean {
    return this.#exitCode !== null && this.#closedSeq !== null && this.#chunks.size === this.#closedSeq - 2;
  }

  /** Up to here everything is known. */
  get contiguousSeq(): number {
    let seq = 0;
    while (this.#chunks.has(seq + 1) || seq + 1 === this.#exitedSeq) seq++;
    return seq;
  }

  /** The bytes of a stream known so far, in order. */
  bytesOf(stream: OutputStreamName): Uint8Array<ArrayBuffer> {
    const chunks = [...this.#chunks].filter(([, chunk]) => chunk.stream === stream).sort(([a], [b]) => a - b);
    return concatBytes(chunks.map(([, { base64 }]) => Uint8Array.fromBase64(base64)));
  }

  /** Notifications from now on come over a new connection. */
  connectionLost(): void {
    this.#liveSeq = null;
  }

  /** Failures are kept for whoever waits: the caller is the receiving loop of a connection, which must go on. */
  notified(notification: ProcessNotification): void {
    try {
      this.#addNotification(notification);
    } catch (error) {
      this.fail(error);
    }
    this.#wake();
  }

  /** Takes the answer to a `process/read` from `contiguousSeq` on, without a byte budget. */
  caughtUp(answer: ProcessReadResult): void {
    for (const { seq, stream, chunk } of answer.chunks) this.#addChunk(seq, stream, chunk);
    if (answer.exited) this.#setExitCode(answer.exitCode);
    if (answer.closed) this.#setClosedSeq(answer.nextSeq - 1);
    // Retention is larger than all output, so whatever has a number is known by now, `exited` and `closed` apart.
    const outputs = answer.nextSeq - 1 - Number(answer.exited) - Number(answer.closed);
    const known = [...this.#chunks.keys()].filter((seq) => seq < answer.nextSeq).length;
    assert.equal(known, outputs, `${this.processId}: chunks before ${answer.nextSeq}, after a read from the gap on`);
    this.#wake();
  }

  /** Ends every wait with this error. */
  fail(error: unknown): void {
    this.#failure ??= error;
    this.#wake();
  }

  /** Resolves once this holds; looked at whenever something is added. */
  async until(holds: () => boolean): Promise<void> {
    const alarm = setTimeout(() => this.fail(new Error(`stuck after ${this.contiguousSeq}`)), WAIT_LIMIT_MS);
    while (this.#failure === null && !holds()) {
      await new Promise<void>((resolve) => this.#watchers.add(resolve));
    }
    clearTimeout(alarm);
    if (this.#failure !== null) throw this.#failure;
  }

  #addNotification({ method, params }: ProcessNotification): void {
    const { seq } = params;
    if (this.#liveSeq !== null) assert.equal(seq, this.#liveSeq + 1, `${this.processId}: live numbers have a gap`);
    this.#liveSeq = seq;
    if (method === "process/output") this.#addChunk(seq, params.stream, params.chunk);
    if (method === "process/exited") {
      assert.ok(this.#exitedSeq === null, `${this.processId}: exited twice`);
      this.#exitedSeq = seq;
      this.#setExitCode(params.exitCode);
    }
    if (method === "process/closed") this.#setClosedSeq(seq);
  }

  #addChunk(seq: number, stream: OutputStreamName, base64: string): void {
    const known = this.#chunks.get(seq);
    if (known !== undefined) {
      assert.deepEqual({ stream, base64 }, known, `${this.processId}: chunk ${seq} has two contents`);
      return;
    }
    assert.notEqual(seq, this.#exitedSeq, `${this.processId}: output has the number of exited`);
    assert.ok(this.#closedSeq === null || seq < this.#closedSeq, `${this.processId}: output after closed`);
    this.#chunks.set(seq, { stream, base64 });
  }

  #setExitCode(exitCode: number | null): void {
    assert.ok(this.#exitCode === null || this.#exitCode === exitCode, `${this.processId}: two exit codes`);
    this.#exitCode = exitCode;
  }

  #setClosedSeq(seq: number): void {
    assert.ok(this.#closedSeq === null || this.#closedSeq === seq, `${this.processId}: closed has two numbers`);
    for (const known of this.#chunks.keys()) assert.ok(known < seq, `${this.processId}: output after closed`);
    this.#closedSeq = seq;
  }

  #wake(): void {
    for (const wake of this.#watchers) wake();
    this.#watchers.clear();
  }
}
