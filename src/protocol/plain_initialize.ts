/**
 * The parameters of `initialize` checked by hand, so that a client is greeted before the schemas are loaded.
 *
 * Takes what is plainly right, and gives exactly what the schema of `handshake.ts` makes of it (a test compares the two).
 * Anything else is left to the schema, which knows what to say about it.
 */

import { isAbsent, isObject } from "../json_object.ts";
import type { InitializeParams } from "./handshake.ts";

/** Null: ask the schema. */
export function plainInitialize(raw: unknown): InitializeParams | null {
  if (!isObject(raw)) return null;
  const { clientName, resumeSessionId, takeover, detachTtlMs, notifications, optionalFields } = raw;
  if (typeof clientName !== "string") return null;
  if (!isAbsent(resumeSessionId) && typeof resumeSessionId !== "string") return null;
  if (!isAbsent(takeover) && typeof takeover !== "boolean") return null;
  if (!isAbsent(detachTtlMs) && !isUnsignedInt(detachTtlMs)) return null;
  if (!isAbsent(notifications) && !isStrings(notifications)) return null;
  if (!isAbsent(optionalFields) && !isStrings(optionalFields)) return null;
  // As the schema does: the members that are there, also those that are null, in its order, and no others.
  const params: Record<string, unknown> = { clientName };
  if (resumeSessionId !== undefined) params.resumeSessionId = resumeSessionId;
  if (takeover !== undefined) params.takeover = takeover;
  if (detachTtlMs !== undefined) params.detachTtlMs = detachTtlMs;
  if (notifications !== undefined) params.notifications = notifications;
  if (optionalFields !== undefined) params.optionalFields = optionalFields;
  return params as InitializeParams;
}

/** As `UnsignedInt` of `primitives.ts`. */
function isUnsignedInt(value: unknown): value is number {
  return typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= 2 ** 64;
}

function isStrings(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}
