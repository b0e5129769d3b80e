/** Every method and notification with its types, for code that calls: the client library and tests. Types only. */

import type * as z from "zod";
import type { EnvironmentInfo, EnvironmentStatus, SandboxReport } from "./environment.ts";
import type { InitializeParams, InitializeResult } from "./handshake.ts";
import type * as discovery from "./capability_discovery.ts";
import type * as config from "./environment_config.ts";
import type * as fs from "./fs.ts";
import type * as http from "./http.ts";
import type * as process from "./process.ts";

/** The answer of methods that only do something. */
type Nothing = Record<string, never>;

/** Parameters and results by method name. */
export interface MethodTypes {
  "initialize": { params: InitializeParams; result: InitializeResult };
  "environment/info": { params: null; result: EnvironmentInfo };
  "environment/status": { params: null; result: EnvironmentStatus };
  "environment/sandbox": { params: null; result: SandboxReport };
  "environmentConfig/read": {
    params: z.input<typeof config.EnvironmentConfigReadParams>;
    result: config.EnvironmentConfigReadResult;
  };
  "capabilityRoots/discoverV1": {
    params: z.input<typeof discovery.CapabilityRootsDiscoverParams>;
    result: discovery.CapabilityRootsDiscoverResult;
  };
  "capabilities/discoverV2": {
    params: z.input<typeof discovery.CapabilitiesDiscoverParams>;
    result: discovery.CapabilitiesDiscoverResult;
  };
  "process/start": { params: z.input<typeof process.ProcessStartParams>; result: process.ProcessStartResult };
  "process/read": { params: z.input<typeof process.ProcessReadParams>; result: process.ProcessReadResult };
  "process/write": { params: z.input<typeof process.ProcessWriteParams>; result: process.ProcessWriteResult };
  "process/closeStdin": { params: { processId: string }; result: process.ProcessCloseStdinResult };
  "process/signal": { params: z.input<typeof process.ProcessSignalParams>; result: Nothing };
  "process/terminate": {
    params: z.input<typeof process.ProcessTerminateParams>;
    result: process.ProcessTerminateResult;
  };
  "process/resize": { params: z.input<typeof process.ProcessResizeParams>; result: Nothing };
  "process/wait": { params: z.input<typeof process.ProcessWaitParams>; result: process.ProcessWaitResult };
  "process/snapshot": { params: { processId: string }; result: process.ProcessSnapshotResult };
  "process/list": { params: null; result: process.ProcessListResult };
  "fs/readFile": { params: z.input<typeof fs.FsReadFileParams>; result: fs.FsReadFileResult };
  "fs/writeFile": { params: z.input<typeof fs.FsWriteFileParams>; result: Nothing };
  "fs/getMetadata": { params: z.input<typeof fs.FsGetMetadataParams>; result: fs.FsGetMetadataResult };
  "fs/canonicalize": { params: z.input<typeof fs.FsCanonicalizeParams>; result: fs.FsCanonicalizeResult };
  "fs/createDirectory": { params: z.input<typeof fs.FsCreateDirectoryParams>; result: Nothing };
  "fs/readDirectory": { params: z.input<typeof fs.FsReadDirectoryParams>; result: fs.FsReadDirectoryResult };
  "fs/walk": { params: z.input<typeof fs.FsWalkParams>; result: fs.FsWalkResult };
  "fs/remove": { params: z.input<typeof fs.FsRemoveParams>; result: Nothing };
  "fs/copy": { params: z.input<typeof fs.FsCopyParams>; result: Nothing };
  "fs/rename": { params: z.input<typeof fs.FsRenameParams>; result: Nothing };
  "fs/chmod": { params: z.input<typeof fs.FsChmodParams>; result: Nothing };
  "fs/symlink": { params: z.input<typeof fs.FsSymlinkParams>; result: Nothing };
  "fs/open": { params: z.input<typeof fs.FsOpenParams>; result: fs.FsOpenResult };
  "fs/readBlock": { params: z.input<typeof fs.FsReadBlockParams>; result: fs.FsReadBlockResult };
  "fs/writeBlock": { params: z.input<typeof fs.FsWriteBlockParams>; result: Nothing };
  "fs/close": { params: z.input<typeof fs.FsCloseParams>; result: Nothing };
  "fs/watchMissing": { params: z.input<typeof fs.FsWatchMissingParams>; result: fs.FsWatchMissingResult };
  "fs/watch": { params: z.input<typeof fs.FsWatchParams>; result: Nothing };
  "fs/unwatch": { params: z.input<typeof fs.FsUnwatchParams>; result: Nothing };
  "http/request": { params: z.input<typeof http.HttpRequestParams>; result: http.HttpRequestResult };
}

/** Notifications of the server by name. */
export interface NotificationTypes {
  "process/output": process.ProcessOutputNotification;
  "process/exited": process.ProcessExitedNotification;
  "process/closed": process.ProcessClosedNotification;
  "process/started": process.ProcessStartedNotification;
  "process/failed": process.ProcessFailedNotification;
  "fs/missingChanged": fs.FsMissingChangedNotification;
  "fs/changed": fs.FsChangedNotification;
  "http/request/bodyDelta": http.HttpBodyDeltaNotification;
}

export type MethodName = keyof MethodTypes;
export type NotificationName = keyof NotificationTypes;

/** One notification, told apart by its method. */
export type Notification = {
  [Name in NotificationName]: { readonly method: Name; readonly params: NotificationTypes[Name] };
}[NotificationName];

/** One notification about a process. */
export type ProcessNotification = Extract<Notification, { readonly method: `process/${string}` }>;
