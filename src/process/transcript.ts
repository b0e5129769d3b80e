/**
 * What a process printed, as a snapshot shows it: stdout and stderr apart, or the one stream of a terminal.
 *
 * A snapshot never exceeds the cap. Each stream alone may fill it; when both have more than fits, each gets half, and
 * what one leaves unused the other has. Holding both in full until then costs at most twice the cap in memory.
 */

import type { OutputStream } from "./backend.ts";
import { HeadTail } from "./head_tail.ts";

export interface TranscriptText {
  readonly stdout: Uint8Array<ArrayBuffer>;
  readonly stderr: Uint8Array<ArrayBuffer>;
  readonly terminal: Uint8Array<ArrayBuffer>;
  readonly truncated: boolean;
}

export class Transcript {
  readonly #capBytes: number;
  readonly #streams: Readonly<Record<OutputStream, HeadTail>>;

  constructor(capBytes: number) {
    this.#capBytes = capBytes;
    this.#streams = { stdout: new HeadTail(capBytes), stderr: new HeadTail(capBytes), pty: new HeadTail(capBytes) };
  }

  append(stream: OutputStream, bytes: Uint8Array): void {
    this.#streams[stream].append(bytes);
  }

  text(): TranscriptText {
    const { stdout, stderr, pty } = this.#streams;
    const half = Math.floor(this.#capBytes / 2);
    const out = stdout.text(this.#capBytes - Math.min(stderr.keptBytes, half));
    const err = stderr.text(this.#capBytes - out.bytes.length);
    const terminal = pty.text(this.#capBytes);
    return {
      stdout: out.bytes,
      stderr: err.bytes,
      terminal: terminal.bytes,
      truncated: out.truncated || err.truncated || terminal.truncated,
    };
  }
}
