/** What a JSON text can hold where members are expected. */

/** Whether a value has named members: neither a list nor null. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Whether an optional member is left out: null says so, too. */
export function isAbsent(value: unknown): value is null | undefined {
  return value === undefined || value === null;
}
