/** Comparing messages with written ones that leave open what differs from run to run. */

/** Replaces what the expected value leaves open, written as `…`, so that the rest can be compared whole. */
export function maskLike(expected: unknown, actual: unknown): unknown {
  if (expected === "…") return "…";
  if (Array.isArray(expected) && Array.isArray(actual)) return actual.map((item, i) => maskLike(expected[i], item));
  if (typeof expected !== "object" || expected === null || typeof actual !== "object" || actual === null) return actual;
  return Object.fromEntries(
    Object.entries(actual).map(([key, value]) => [key, maskLike((expected as Record<string, unknown>)[key], value)]),
  );
}
