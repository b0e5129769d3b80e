/** Properties checked over many generated cases: a failing one is named by its seed, and can be repeated alone. */

import { Random } from "./random.ts";

export async function forSeeds(count: number, property: (random: Random) => void | Promise<void>): Promise<void> {
  for (let seed = 1; seed <= count; seed++) {
    try {
      await property(new Random(seed));
    } catch (error) {
      throw new Error(`fails with seed ${seed}`, { cause: error });
    }
  }
}

export function randomBytes(random: Random, length: number): Uint8Array<ArrayBuffer> {
  return Uint8Array.from({ length }, () => random.int(256));
}
