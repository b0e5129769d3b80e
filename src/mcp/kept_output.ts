/**
 * The output of one command, in bounded memory: the beginning and the end of each stream. `take` hands out what came
 * since the last time, as one text: standard output first, then standard error, as the reference does. Where bytes are
 * missing the text says so, and how many. A character of which only the beginning has come waits for its rest.
 *
 * Tells its watchers when there is something more to take.
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
  readonly #watchers = new Set<() => void>();

  append(stream: OutputStream, bytes: Uint8Array): void {
    const kept = this.#streams[stream];
    const all = kept.begun.length === 0 ? bytes : joined(kept.begun, bytes);
    const wholeBytes = all.length - begunBytes(all);
    kept.content.append(all.subarray(0, wholeBytes));
    kept.totalBytes += wholeBytes;
    // A copy: the array may be large, and its owner may use it again.
    kept.begun = all.slice(wholeBytes);
    if (wholeBytes > 0) { for (const onMore of this.#watchers) onMore(); }
  }

  /** Whether `take` would hand out anything. */
  get hasMore(): boolean {
    return Object.values(this.#streams).some(({ totalBytes }) => totalBytes > 0);
  }

  /** `onMore` is called for everything that comes. The returned function ends that. */
  watch(onMore: () => void): () => void {
    this.#watchers.add(onMore);
    return () => this.#watchers.delete(onMore);
  }

  /** All whole characters that came since the last time. What is handed out is forgotten. */
  take(): OutputText {
    const { stdout, stderr } = this.#streams;
    this.#streams = { stdout: emptyStream(stdout.begun), stderr: emptyStream(stderr.begun) };
    return textsOf(stdout, stderr);
  }

  /** The same when nothing more comes: a character that has only begun is handed out too, as one that is broken. */
  takeLast(): OutputText {
    const { stdout, stderr } = this.#streams;
    this.#streams = emptyStreams();
    for (const kept of [stdout, stderr]) {
      kept.content.append(kept.begun);
      kept.totalBytes += kept.begun.length;
    }
    return textsOf(stdout, stderr);
  }
}

function textsOf(stdout: KeptStream, stderr: KeptStream): OutputText {
  const share = shares(stdout.totalBytes, stderr.totalBytes);
  const omitted: Omission[] = [];
  return {
    stdout: textOf(stdout, "stdout", { maxBytes: share.stdout, omitted }),
    stderr: textOf(stderr, "stderr", { maxBytes: share.stderr, omitted }),
    omitted,
  };
}

interface KeptStream {
  readonly content: HeadTail;
  totalBytes: number;
  /** The beginning of a character, which is not in the content yet. */
  begun: Uint8Array;
}

function emptyStream(begun: Uint8Array = new Uint8Array(0)): KeptStream {
  return { content: new HeadTail(MAX_OUTPUT_BYTES), totalBytes: 0, begun };
}

function emptyStreams(): Record<OutputStream, KeptStream> {
  return { stdout: emptyStream(), stderr: emptyStream() };
}

/** How many bytes at the end are the beginning of a character of UTF-8 whose rest is missing: at most three. */
function begunBytes(bytes: Uint8Array): number {
  for (let count = 1; count <= Math.min(3, bytes.length); count++) {
    const byte = bytes[bytes.length - count]!;
    // One that continues a character: its beginning is further in front.
    if ((byte & 0xc0) === 0x80) continue;
    const length = byte < 0xc2 || byte > 0xf4 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
    return count < length ? count : 0;
  }
  return 0;
}

function joined(first: Uint8Array, second: Uint8Array): Uint8Array {
  const both = new Uint8Array(first.length + second.length);
  both.set(first);
  both.set(second, first.length);
  return both;
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
