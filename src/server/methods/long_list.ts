/** Lists of many entries as answers, encoded in turn with everybody else: as one text a long one takes 0.1 s and more. */

import type { Pacer } from "../../os/loop/pacer.ts";
import { EncodedResult, isAsciiText } from "../../rpc/encoded_result.ts";

/** Entries encoded at once, to begin with and at least. With the longest texts they take 0.5 ms. */
const MIN_STEP_ENTRIES = 32;
/** Short entries cost less when many are encoded at once. If the next ones are the longest, it takes 4 ms, once. */
const MAX_STEP_ENTRIES = 256;
const STEP_CHARACTERS = 64 * 1024;

/** Up to this many entries a list is encoded like any other answer. */
const SHORT_LIST_ENTRIES = 256;

/** What answers `{"entries":[…]}`. */
export async function listAnswer<Entry>(
  entries: Entry[],
  pacer: Pacer,
  signal?: AbortSignal,
): Promise<{ entries: Entry[] } | EncodedResult> {
  if (entries.length <= SHORT_LIST_ENTRIES) return { entries };
  const slice = pacer.slice(signal);
  const parts: string[] = [];
  let isAscii = true;
  let step = MIN_STEP_ENTRIES;
  for (let at = 0; at < entries.length; at += step) {
    if (at > 0) {
      step = stepAfter(parts.at(-1)!.length / step);
      if (slice.isOver) await slice.rest();
    }
    const json = JSON.stringify(entries.slice(at, at + step));
    isAscii &&= isAsciiText(json);
    parts.push(`${at === 0 ? "" : ","}${json.slice(1, -1)}`);
  }
  return new EncodedResult('{"entries":[', parts, "]}", { isAscii });
}

/** For entries as long as those before. */
function stepAfter(charactersEach: number): number {
  const fitting = Math.floor(STEP_CHARACTERS / charactersEach);
  return Math.min(MAX_STEP_ENTRIES, Math.max(MIN_STEP_ENTRIES, fitting));
}
