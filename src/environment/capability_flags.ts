/**
 * The flags of `environmentInfo.capabilities`. Only what works is true. Clients treat a missing flag as false, so flags
 * of the reference that are not implemented are left out, and so is what this server cannot do on its system.
 */

import type { Capabilities } from "../protocol/environment.ts";

const CAPABILITIES: Capabilities = {
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
  fsNoFollow: true,
  fsAtomicWrite: true,
  fsConditionalWrite: true,
  fsReadRange: true,
  fsMetadataFields: true,
  fsOpenUpdate: true,
  fsRename: true,
  fsChmod: true,
  fsSymlink: true,
  fsList: true,
  fsSetTimes: true,
  fsFlush: true,
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
  processUid: true,
  sessionEnd: true,
  outputGap: true,
  processFailure: true,
  terminateTree: true,
  signalForeground: true,
  sessionTakeover: true,
  acknowledgedOutput: true,
  detachTtl: true,
  rpcDiscover: true,
  processName: true,
  processAttach: true,
  processDetails: true,
  netConnect: true,
};

/** Only of use to requests with a sandbox object. */
const OF_SANDBOXES: readonly string[] = ["capabilityDiscoverySandbox", "sandboxedFileStreaming", "networkDenials"];

/**
 * What needs the C library, in whole or in part: terminals, the search for descendants, watches, and changes to files
 * with promises that only the kernel can keep. `docs/permissions.md` says what is left of each.
 */
const OF_THE_C_LIBRARY: readonly string[] = [
  "fsWatchMissing",
  "fsNoFollow",
  "fsAtomicWrite",
  "fsFlush",
  "fsWatch",
  "processResize",
  "processIo",
  "preparedExec",
  "terminateTree",
  "signalForeground",
];

export interface Means {
  /** The C library can be called. */
  readonly hasLibc: boolean;
  /** Nothing that is known in advance keeps this server from making sandboxes. */
  readonly mayConfine: boolean;
  /** It was told to open tunnels. */
  readonly mayTunnel: boolean;
}

/** The flags of a server with these means. */
export function capabilities({ hasLibc, mayConfine, mayTunnel }: Means): Capabilities {
  const missing = [
    ...(hasLibc ? [] : OF_THE_C_LIBRARY),
    ...(mayConfine ? [] : OF_SANDBOXES),
    ...(mayTunnel ? [] : ["netConnect"]),
  ];
  if (missing.length === 0) return CAPABILITIES;
  return Object.fromEntries(Object.entries(CAPABILITIES).filter(([name]) => !missing.includes(name)));
}
