/** Durations as people write them on a command line. */

import { MAX_TIMER_MS } from "../clock.ts";
import { quoted, usageError } from "./cli_error.ts";

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Milliseconds of `90s`, `30m`, `2h`; null stays null. Throws a usage error for anything else. */
export function durationMs(writtenAs: string, text: string | null): number | null {
  if (text === null) return null;
  const [, count, unit] = /^(\d{1,10})(ms|s|m|h|d)$/.exec(text) ?? [];
  const ms = unit === undefined ? NaN : Number(count) * UNIT_MS[unit]!;
  if (ms >= 1 && ms <= MAX_TIMER_MS) return ms;
  throw usageError(`${writtenAs} must be a duration such as 90s, 30m or 2h, at most 24d, not ${quoted(text)}`);
}
