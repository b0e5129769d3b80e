/** Randomness that is the same every time: SHA-256 of a seed and a counter. For recorded handshakes; never for keys in use. */

import { createHash } from "node:crypto";
import type { RandomBytes } from "../../src/remote/noise/keys.ts";

export function countingRandom(seed: number): RandomBytes {
  let counter = 0;
  return (count) => {
    const bytes = new Uint8Array(count);
    for (let at = 0; at < count; at += 32) {
      const block = createHash("sha256").update(`${seed}/${counter++}`).digest();
      bytes.set(block.subarray(0, Math.min(32, count - at)), at);
    }
    return bytes;
  };
}
