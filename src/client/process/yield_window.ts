/**
 * Output in portions, for the tools of agents: what a process has written since the last portion, bounded, as text. The
 * process never waits. If there is too much for a portion, its beginning and end are kept.
 *
 * Text is always valid: a character that ends in a later chunk belongs to the portion that completes it.
 */

import { concatBytes } from "../../bytes.ts";
import { BoundedOutput } from "./bounded_output.ts";
import type { OutputHub } from "./output_hub.ts";
import type { StreamName } from "./feed_sink.ts";
import type { ProcessStatus } from "./process_status.ts";
import { withoutCutEnd, withoutCutStart } from "./text.ts";

/**
 * How long to wait for a portion, and how large it may be.
 *
 * ```ts
 * const options: YieldOptions = { yieldMs: 5000, maxBytes: 20_000 };
 * console.log((await handle.pollUntil(options)).text);
 * ```
 */
export interface YieldOptions {
  /** Returns after this time, or when the process has ended and written all. 10 s unless given. */
  readonly yieldMs?: number | undefined;
  /** About how much text, in bytes of UTF-8. 1 MiB unless given; at most that. */
  readonly maxBytes?: number | undefined;
  /** Gives up waiting. The process runs on, and what it has written comes with the next portion. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * What a process has written since the last portion.
 *
 * ```ts
 * const { text, running }: OutputPortion = await handle.pollUntil({ yieldMs: 5000 });
 * console.log(text, running);
 * ```
 */
export interface OutputPortion {
  /** All streams together, in the order they came. If something is left out, a line says how much. */
  readonly text: string;
  /** How much was left out in the middle. */
  readonly omittedBytes: number;
  /** Whether the process still runs, or its output is not complete: ask again with `pollUntil`. */
  readonly running: boolean;
  /** How it ended; null while it runs. */
  readonly status: ProcessStatus | null;
}

/** How much is kept between two portions, and the most that a portion can have. */
export const MAX_PORTION_BYTES: number = 1024 * 1024;
/** The wait for a portion, unless given. */
export const DEFAULT_YIELD_MS = 10_000;

const STREAMS = ["stdout", "stderr", "pty"] as const;

/** See the head of the module. */
export class OutputWindow {
  #collected = new BoundedOutput(MAX_PORTION_BYTES);
  /** The first bytes of an incomplete character. */
  readonly #cut = new Map<StreamName, Uint8Array>();

  /** From now on receives the output of all streams. */
  constructor(hub: OutputHub) {
    for (const name of STREAMS) hub.receive(name, (bytes) => this.#add(name, bytes));
  }

  #add(name: StreamName, bytes: Uint8Array): void {
    const cut = this.#cut.get(name);
    const all = cut === undefined ? bytes : concatBytes([cut, bytes]);
    const whole = withoutCutEnd(all);
    if (whole.length < all.length) this.#cut.set(name, all.slice(whole.length));
    else this.#cut.delete(name);
    if (whole.length > 0) this.#collected.add(whole);
  }

  /** What has come since the last time. With `isLast` also characters that will never be complete. */
  take(maxBytes: number, isLast: boolean): { text: string; omittedBytes: number } {
    if (isLast) {
      for (const cut of this.#cut.values()) this.#collected.add(cut);
      this.#cut.clear();
    }
    const portion = new BoundedOutput(Math.min(maxBytes, MAX_PORTION_BYTES));
    const { droppedBytes } = this.#collected;
    const [head, tail] = [this.#collected.head(), this.#collected.tail()];
    this.#collected = new BoundedOutput(MAX_PORTION_BYTES);
    portion.add(head);
    portion.add(tail);
    const omitted = droppedBytes + portion.droppedBytes;
    if (omitted === 0) return { text: decode(portion.bytes()), omittedBytes: 0 };
    const [first, last] = [withoutCutEnd(portion.head()), withoutCutStart(portion.tail())];
    const omittedBytes = omitted + portion.head().length - first.length + portion.tail().length - last.length;
    return { text: `${decode(first)}\n… ${omittedBytes} bytes left out …\n${decode(last)}`, omittedBytes };
  }
}

function decode(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}
