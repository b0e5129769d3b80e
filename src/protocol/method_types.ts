/** Every method and notification with its types, for code that calls: the client library and tests. Types only. */

import type * as z from "zod";
import type { EnvironmentInfo, EnvironmentStatus } from "./environment.ts";
import type { InitializeParams, InitializeResult } from "./handshake.ts";
import type * as process from "./process.ts";

/** Parameters and results by method name. */
export interface MethodTypes {
  "initialize": { params: InitializeParams; result: InitializeResult };
  "environment/info": { params: null; result: EnvironmentInfo };
  "environment/status": { params: null; result: EnvironmentStatus };
  "process/start": { params: z.input<typeof process.ProcessStartParams>; result: process.ProcessStartResult };
  "process/read": { params: z.input<typeof process.ProcessReadParams>; result: process.ProcessReadResult };
  "process/write": { params: z.input<typeof process.ProcessWriteParams>; result: process.ProcessWriteResult };
  "process/closeStdin": { params: { processId: string }; result: process.ProcessCloseStdinResult };
  "process/signal": { params: z.input<typeof process.ProcessSignalParams>; result: Record<string, never> };
  "process/terminate": {
    params: z.input<typeof process.ProcessTerminateParams>;
    result: process.ProcessTerminateResult;
  };
  "process/resize": { params: z.input<typeof process.ProcessResizeParams>; result: Record<string, never> };
  "process/wait": { params: z.input<typeof process.ProcessWaitParams>; result: process.ProcessWaitResult };
  "process/snapshot": { params: { processId: string }; result: process.ProcessSnapshotResult };
  "process/list": { params: null; result: process.ProcessListResult };
}

/** Notifications of the server by name. */
export interface NotificationTypes {
  "process/output": process.ProcessOutputNotification;
  "process/exited": process.ProcessExitedNotification;
  "process/closed": process.ProcessClosedNotification;
  "process/started": process.ProcessStartedNotification;
  "process/failed": process.ProcessFailedNotification;
}

export type MethodName = keyof MethodTypes;
export type NotificationName = keyof NotificationTypes;

/** One notification, told apart by its method. */
export type Notification = {
  [Name in NotificationName]: { readonly method: Name; readonly params: NotificationTypes[Name] };
}[NotificationName];
