/** Durations as people write them: a number of milliseconds, or a number with a unit. */

/**
 * Milliseconds, or a text such as `"250ms"`, `"30s"`, `"5m"`, `"1.5h"`, `"2d"`.
 *
 * ```ts
 * const limits: Duration[] = [1500, "90s", "5m", "1h"];
 * await box.run(["make"], { timeout: limits[2] });
 * ```
 */
export type Duration = number | string;

const UNIT_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/**
 * Whole milliseconds of a duration, at least 1.
 *
 * @throws {TypeError} when it is not a positive duration
 */
export function milliseconds(duration: Duration, what: string): number {
  const [, digits = "", unit = ""] = /^\s*(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)\s*$/.exec(String(duration)) ?? [];
  const ms = typeof duration === "number" ? duration : Number(digits === "" ? NaN : digits) * UNIT_MS[unit]!;
  if (!(ms > 0) || !Number.isFinite(ms)) {
    const given = JSON.stringify(duration) ?? String(duration);
    throw new TypeError(`${what} must be a positive number of milliseconds or a text such as "5m", not ${given}`);
  }
  return Math.max(1, Math.round(ms));
}
