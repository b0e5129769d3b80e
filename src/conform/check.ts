/** The type of a check, and the helpers of all checks. */

import type { Peer } from "./peer.ts";
import { Broken } from "./peer.ts";
import type { Scene } from "./scene.ts";

export interface Check {
  /** Area and name: `files/missing`. It stays the same, so that lists of known differences can name it. */
  readonly id: string;
  /** The promise, as a sentence. */
  readonly promise: string;
  /** The flag without which a server does not promise it. */
  readonly flag?: string;
  run(scene: Scene): Promise<void>;
}

/** Thrown by a check that cannot judge this server, with the reason. */
export class Skipped extends Error {
  override readonly name = "Skipped";
}

/** A check on a connection that has shaken hands. */
export function promised(
  id: string,
  promise: string,
  run: (peer: Peer, scene: Scene) => Promise<void>,
  flag?: string,
): Check {
  return {
    id,
    promise,
    ...(flag === undefined ? {} : { flag }),
    run: async (scene) => await run(await scene.connect(), scene),
  };
}

/** Expects two JSON values to be the same. */
export function same(actual: unknown, expected: unknown, what: string): void {
  const [came, wanted] = [canonical(actual), canonical(expected)];
  if (came !== wanted) throw new Broken(`${what} should be ${wanted}: it is ${came}`);
}

export function holds(condition: boolean, what: string): void {
  if (!condition) throw new Broken(what);
}

/** JSON with the members of objects sorted. */
function canonical(value: unknown): string {
  return JSON.stringify(
    value,
    (_, inner) =>
      typeof inner === "object" && inner !== null && !Array.isArray(inner)
        ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
        : inner,
  ) ?? "nothing";
}

export const base64 = (text: string): string => new TextEncoder().encode(text).toBase64();
export const textOf = (encoded: string): string => new TextDecoder().decode(Uint8Array.fromBase64(encoded));
