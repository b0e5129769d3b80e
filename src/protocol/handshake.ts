/** What `initialize` takes. */

import * as z from "zod/mini";
import { UnsignedInt } from "./primitives.ts";

export type { InitializeResult } from "./environment_results.ts";

/** Notifications a client must ask for, because clients of the reference do not expect them. */
export const OPTIONAL_NOTIFICATIONS = ["process/started", "process/failed", "process/resized"] as const;

/** Additions to existing results a client must ask for, because some compare results as a whole. */
export const OPTIONAL_FIELDS = [
  "processEndReason",
  "networkDenials",
  "processUid",
  "outputGap",
  "processFailure",
  "acknowledgedOutput",
  "detachTtlMs",
  "processName",
] as const;

export const InitializeParams = z.object({
  clientName: z.string(),
  resumeSessionId: z.nullish(z.string()),
  /** Whether the session is resumed although another connection holds it, which then loses it. */
  takeover: z.nullish(z.boolean()),
  /**
   * How long the session waits for its client when the connection is gone, up to the server's maximum. Left out: as the
   * server is set, or for a session that is resumed as before.
   */
  detachTtlMs: z.nullish(UnsignedInt),
  /** Names from `OPTIONAL_NOTIFICATIONS`; others are ignored, so that a client can ask newer servers for more. */
  notifications: z.nullish(z.array(z.string())),
  /** Names from `OPTIONAL_FIELDS`; others are ignored. */
  optionalFields: z.nullish(z.array(z.string())),
});
export type InitializeParams = z.infer<typeof InitializeParams>;
