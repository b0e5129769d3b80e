/** Looks for a text in the output of a process as it comes, even if chunks divide the text or its characters. */

import { type Duration, milliseconds } from "../duration.ts";
import { abortedBy, ProcessFailedError } from "../errors.ts";
import type { OutputHub } from "./output_hub.ts";
import type { StreamName } from "./feed_sink.ts";
import type { ProcessStatus } from "./process_status.ts";
import { within } from "./within.ts";

/**
 * How long to wait for the text.
 *
 * ```ts
 * const options: WaitForOptions = { timeout: "30s" };
 * await handle.waitForText("ready", options);
 * ```
 */
export interface WaitForOptions {
  /** Gives up with a `TimedOutError`. The process runs on. */
  readonly timeout?: Duration | undefined;
  /** Gives up. The process runs on. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * What was found.
 *
 * ```ts
 * const { groups }: TextMatch = await handle.waitForText(/listening on (\\d+)/);
 * console.log(groups[0]);
 * ```
 */
export interface TextMatch {
  /** The text that matched. */
  readonly text: string;
  /** What the groups of a regular expression matched. */
  readonly groups: readonly (string | undefined)[];
}

/** How much text is searched: a longer match is not found. */
const MAX_SEARCHED_CHARACTERS = 256 * 1024;
/** How much of the output an error shows. */
const SHOWN_CHARACTERS = 2000;

/** Sees the output without removing it for other readers. */
export class TextSearch {
  #text = "";
  readonly #decoders = new Map<StreamName, TextDecoder>();
  /** Pending searches, in the order they were made. */
  readonly #lookers = new Set<() => void>();

  /** Begins with the output that is still kept. */
  constructor(hub: OutputHub) {
    hub.tap((name, bytes) => this.#add(name, bytes));
  }

  #add(name: StreamName, bytes: Uint8Array): void {
    let decoder = this.#decoders.get(name);
    if (decoder === undefined) this.#decoders.set(name, decoder = new TextDecoder());
    this.#text = (this.#text + decoder.decode(bytes, { stream: true })).slice(-MAX_SEARCHED_CHARACTERS);
    for (const look of [...this.#lookers]) look();
  }

  /** Resolves with the next match. All searches continue after it. */
  async next(
    pattern: string | RegExp,
    closed: Promise<ProcessStatus>,
    { timeout, signal }: WaitForOptions,
  ): Promise<TextMatch> {
    const what = `waiting for ${describe(pattern)}`;
    if (signal?.aborted) throw abortedBy(signal, what);
    const found = Promise.withResolvers<TextMatch>();
    const look = () => {
      const match = find(this.#text, pattern);
      if (match === null) return;
      this.#text = this.#text.slice(match.end);
      this.#lookers.delete(look);
      found.resolve({ text: match.text, groups: match.groups });
    };
    this.#lookers.add(look);
    look();
    const ended = closed.then((status) => {
      const output = this.#text.slice(-SHOWN_CHARACTERS);
      const how = status.signal ?? `code ${status.code}`;
      const message = `${what}: the process ended (${how}) without writing it; last output: ${output}`;
      throw new ProcessFailedError(message, {
        code: status.code,
        signal: status.signal,
        stdout: new TextEncoder().encode(output),
        stderr: new Uint8Array(0),
      });
    });
    ended.catch(() => {});
    const timeoutMs = timeout === undefined ? null : milliseconds(timeout, "timeout");
    try {
      return await within(Promise.race([found.promise, ended]), { timeoutMs, signal, what });
    } finally {
      this.#lookers.delete(look);
    }
  }
}

function find(text: string, pattern: string | RegExp) {
  if (typeof pattern === "string") {
    const at = text.indexOf(pattern);
    return at === -1 ? null : { text: pattern, groups: [], end: at + pattern.length };
  }
  // Flags `g` and `y` would make the pattern remember where it was.
  const match = new RegExp(pattern.source, pattern.flags.replace(/[gy]/g, "")).exec(text);
  return match === null ? null : { text: match[0], groups: match.slice(1), end: match.index + match[0].length };
}

function describe(pattern: string | RegExp): string {
  return typeof pattern === "string" ? JSON.stringify(pattern) : String(pattern);
}
