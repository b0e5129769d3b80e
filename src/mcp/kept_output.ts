/**
 * The output of one command, in bounded memory: the beginning and the end of each stream. `take` hands out what came
 * since the last time, as one text: standard output first, then standard error, as the reference does. Where bytes are
 * missing the text says so, and how many.
 */

import { HeadTail } from "../process/session/head_tail.ts";
import { MAX_OUTPUT_BYTES, STDOUT_SHARE_BYTES } from "./limits.ts";

export type OutputStream = "stdout" | "stderr";

/** Bytes that a text leaves out. */
export interface Omission {
  readonly stream: OutputStream;
  readonly bytes: number;
}

export interface OutputText {
  readonly stdout: string;
  readonly stderr: string;
  readonly omitted: readonly Omission[];
}

export class KeptOutput {
  #streams = emptyStreams();

  append(stream: OutputStream, bytes: Uint8Array): void {
    const kept = this.#streams[stream];
    kept.content.append(bytes);
    kept.totalBytes += bytes.length;
  }

  /** How much has come since the last `take`. */
  get newBytes(): number {
    return this.#streams.stdout.totalBytes + this.#streams.stderr.totalBytes;
  }

  /** All that came since the last time. What is handed out is forgotten. */
  take(): OutputText {
    const { stdout, stderr } = this.#streams;
    this.#streams = emptyStreams();
    const share = shares(stdout.totalBytes, stderr.totalBytes);
    const omitted: Omission[] = [];
    return {
      stdout: textOf(stdout, "stdout", { maxBytes: share.stdout, omitted }),
      stderr: textOf(stderr, "stderr", { maxBytes: share.stderr, omitted }),
      omitted,
    };
  }
}

interface KeptStream {
  readonly content: HeadTail;
  totalBytes: number;
}

function emptyStreams(): Record<OutputStream, KeptStream> {
  const empty = (): KeptStream => ({ content: new HeadTail(MAX_OUTPUT_BYTES), totalBytes: 0 });
  return { stdout: empty(), stderr: empty() };
}

/**
 * The reference's shares: a third for standard output, the rest for standard error. What standard error does not need
 * goes back to standard output.
 */
function shares(stdoutBytes: number, stderrBytes: number): Record<OutputStream, number> {
  const stdout = Math.min(stdoutBytes, STDOUT_SHARE_BYTES);
  const stderr = Math.min(stderrBytes, MAX_OUTPUT_BYTES - stdout);
  return { stdout: Math.min(stdoutBytes, MAX_OUTPUT_BYTES - stderr), stderr };
}

function textOf(
  { content, totalBytes }: KeptStream,
  stream: OutputStream,
  { maxBytes, omitted }: { maxBytes: number; omitted: Omission[] },
): string {
  const decoder = new TextDecoder();
  const { bytes: all } = content.text(maxBytes);
  if (totalBytes <= maxBytes) return decoder.decode(all);
  // The mark takes its room from what is kept, so that the whole is never longer than promised. The number in the mark
  // is as long as the largest there can be.
  const markBytes = mark(stream, totalBytes).length;
  const keptBytes = Math.max(0, maxBytes - markBytes);
  const omittedBytes = totalBytes - keptBytes;
  const { bytes } = content.text(keptBytes);
  const headBytes = keptBytes - Math.floor(keptBytes / 2);
  const middle = mark(stream, omittedBytes).padEnd(markBytes);
  omitted.push({ stream, bytes: omittedBytes });
  return decoder.decode(bytes.subarray(0, headBytes)) + middle + decoder.decode(bytes.subarray(headBytes));
}

function mark(stream: OutputStream, bytes: number): string {
  return `\n[... ${bytes} bytes of ${stream} left out ...]\n`;
}
