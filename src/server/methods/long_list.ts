/** Lists of many entries as answers, encoded in turn with everybody else: as one text a long one takes 0.1 s and more. */

import type { Pacer } from "../../os/loop/pacer.ts";
import { EncodedResult, escapeToAscii } from "../../rpc/encoded_result.ts";

/** Entries encoded at once. With the longest texts they take 0.5 ms. */
const STEP_ENTRIES = 32;

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
  for (let at = 0; at < entries.length; at += STEP_ENTRIES) {
    const json = JSON.stringify(entries.slice(at, at + STEP_ENTRIES));
    parts.push(`${at === 0 ? "" : ","}${escapeToAscii(json.slice(1, -1))}`);
    if (slice.isOver) await slice.rest();
  }
  return new EncodedResult('{"entries":[', parts, "]}");
}
