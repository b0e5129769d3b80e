/** `initialize` and `initialized`: shapes only. */

import * as z from "zod";
import type { EnvironmentInfo } from "./environment.ts";

/** Notifications a client must ask for, because clients of the reference do not expect them. */
export const OPTIONAL_NOTIFICATIONS = ["process/started", "process/failed"] as const;

/** Additions to existing results a client must ask for, because some compare results as a whole. */
export const OPTIONAL_FIELDS = ["processEndReason", "networkDenials"] as const;

export const InitializeParams = z.object({
  clientName: z.string(),
  resumeSessionId: z.string().nullish(),
  /** Names from `OPTIONAL_NOTIFICATIONS`; others are ignored, so that a client can ask newer servers for more. */
  notifications: z.array(z.string()).nullish(),
  /** Names from `OPTIONAL_FIELDS`; others are ignored. */
  optionalFields: z.array(z.string()).nullish(),
});
export type InitializeParams = z.infer<typeof InitializeParams>;

export interface InitializeResult {
  sessionId: string;
  environmentInfo: EnvironmentInfo;
}
