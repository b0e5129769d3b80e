/** When a token expires, as people write it. */

import { quoted, usageError } from "../cli_error.ts";

const UNIT_MS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

/**
 * Reads a duration from `now` on, or a time with its zone. Throws a usage error for anything else, and for times in the
 * past.
 */
export function expiryOf(text: string, now: Date): Date {
  const [, count, unit] = /^(\d{1,5})([mhd])$/.exec(text) ?? [];
  const isTime = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2})?(Z|[+-]\d{2}:\d{2})$/.test(text);
  const time = unit === undefined
    ? new Date(isTime ? text : NaN)
    : new Date(now.getTime() + Number(count) * UNIT_MS[unit]!);
  if (Number.isNaN(time.getTime())) {
    throw usageError(`--expires ${quoted(text)}: write 90d, 12h, 30m, or a time such as 2027-01-31T12:00:00Z`);
  }
  if (time <= now) throw usageError(`--expires ${quoted(text)}: that is not in the future`);
  return time;
}
