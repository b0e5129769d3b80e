/**
 * The flags of `environmentInfo.capabilities`. Only what works is true; a client treats a missing flag as false, so
 * the reference's flags that are not implemented are left out.
 */

import type { Capabilities } from "../protocol/environment.ts";

export const CAPABILITIES: Capabilities = {
  // The reference's.
  capabilityDiscoverySandbox: true,
  capabilityDiscoveryV2: true,
  environmentConfigRead: true,
  fileWriteStreaming: true,
  fsWatchMissing: true,
  httpHeaderEnvVars: true,
  sandboxedFileStreaming: true,
  shellSnapshotV2: true,
  // Ours.
  fsAtomicWrite: true,
  fsConditionalWrite: true,
  fsReadRange: true,
  fsMetadataFields: true,
  fsRename: true,
  fsChmod: true,
  fsSymlink: true,
  fsWatch: true,
  processCloseStdin: true,
  processResize: true,
  processWait: true,
  processSnapshot: true,
  processList: true,
  processSignals: true,
  processDeadlines: true,
  processKeep: true,
  terminateModes: true,
  processIo: true,
  preparedExec: true,
  lifecycleNotifications: true,
  processEndReason: true,
  sandboxReport: true,
  networkDenials: true,
};
