/**
 * What a process printed, as a snapshot shows it: stdout and stderr apart, or the one stream of a terminal.
 *
 * A snapshot never exceeds the cap. Each stream alone may fill it. When both have more than fits, each gets half, and one
 * stream may use what the other leaves.
 *
 * Holds only what the output log does not: the beginning of what the log has dropped, and the end of it as far as the
 * log has too little of that stream. So a process that printed less than the log retains costs nothing here, and one
 * that printed more costs half the cap.
 */

import type { OutputStream } from "../backend.ts";
import { HeadTail } from "./head_tail.ts";
import type { OutputChunk } from "./output_log.ts";

export interface TranscriptText {
  readonly stdout: Uint8Array<ArrayBuffer>;
  readonly stderr: Uint8Array<ArrayBuffer>;
  readonly terminal: Uint8Array<ArrayBuffer>;
  readonly truncated: boolean;
}

interface StreamRecord {
  /** What the log has dropped. */
  readonly dropped: HeadTail;
  /** Bytes of this stream in the log. */
  retainedBytes: number;
}

export class Transcript {
  readonly #capBytes: number;
  readonly #streams: Readonly<Record<OutputStream, StreamRecord>>;

  constructor(capBytes: number) {
    this.#capBytes = capBytes;
    const record = (): StreamRecord => ({ dropped: new HeadTail(capBytes), retainedBytes: 0 });
    this.#streams = { stdout: record(), stderr: record(), pty: record() };
  }

  /** Memory held. */
  get allocatedBytes(): number {
    const { stdout, stderr, pty } = this.#streams;
    return stdout.dropped.allocatedBytes + stderr.dropped.allocatedBytes + pty.dropped.allocatedBytes;
  }

  /** The log has taken this chunk. */
  retained({ stream, bytes }: OutputChunk): void {
    this.#streams[stream].retainedBytes += bytes.length;
  }

  /** The log has dropped this chunk, its oldest. */
  dropped({ stream, bytes }: OutputChunk): void {
    const record = this.#streams[stream];
    record.retainedBytes -= bytes.length;
    if (record.retainedBytes >= record.dropped.tailCapacity) record.dropped.appendWithoutTail(bytes);
    else record.dropped.append(bytes);
  }

  /** Nothing more will come: gives back memory that was allocated ahead. */
  trim(): void {
    for (const { dropped } of Object.values(this.#streams)) dropped.trim();
  }

  /** `retainedOutput`: everything the log has. */
  text(retainedOutput: Iterable<OutputChunk>): TranscriptText {
    const { stdout, stderr, pty } = this.#streams;
    const whole = { stdout: stdout.dropped.clone(), stderr: stderr.dropped.clone(), pty: pty.dropped.clone() };
    for (const { stream, bytes } of retainedOutput) whole[stream].append(bytes);
    const half = Math.floor(this.#capBytes / 2);
    const out = whole.stdout.text(this.#capBytes - Math.min(whole.stderr.keptBytes, half));
    const err = whole.stderr.text(this.#capBytes - out.bytes.length);
    const terminal = whole.pty.text(this.#capBytes);
    return {
      stdout: out.bytes,
      stderr: err.bytes,
      terminal: terminal.bytes,
      truncated: out.truncated || err.truncated || terminal.truncated,
    };
  }
}
