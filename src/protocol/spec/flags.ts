/**
 * What each flag of `environmentInfo.capabilities` promises, and what each word of `optionalFields` and `notifications` of
 * `initialize` adds. A test compares the flags with those the server has.
 */

import type { OPTIONAL_FIELDS, OPTIONAL_NOTIFICATIONS } from "../handshake.ts";

export const FLAG_TEXTS: Readonly<Record<string, string>> = {
  capabilityDiscoverySandbox: "roots of `capabilityRoots/discoverV1` take `sandbox`",
  capabilityDiscoveryV2: "`capabilities/discoverV2`",
  environmentConfigRead: "`environmentConfig/read`",
  fileWriteStreaming: "`fs/open` with `replace`, `fs/writeBlock`",
  fsWatchMissing: "`fs/watchMissing`, `fs/missingChanged`",
  httpHeaderEnvVars: "`valueEnvVar` of `http/request`",
  sandboxedFileStreaming: "`fs/open` takes `sandbox`",
  shellSnapshotV2: "`shellSnapshot` of `process/start`",
  fsNoFollow: "`followSymlinks: false` is checked by the kernel while it resolves the path",
  fsAtomicWrite: "`atomic`, `breakHardLinks` and `mode` of `fs/writeFile`",
  fsConditionalWrite: "`ifMatch` of `fs/writeFile`",
  fsReadRange: "`offset` and `length` of `fs/readFile`",
  fsMetadataFields: "`fields` of `fs/getMetadata`",
  fsOpenUpdate: "`fs/open` with `update`",
  fsRename: "`fs/rename`",
  fsChmod: "`fs/chmod`",
  fsSymlink: "`fs/symlink`",
  fsList: "`fs/list`",
  fsSetTimes: "`fs/setTimes`, and `modifiedAtMs` of `fs/writeFile`",
  fsFlush: "`flush` of `fs/writeFile` and `fs/rename`",
  fsWatch: "`fs/watch`, `fs/unwatch`, `fs/changed`",
  processCloseStdin: "`process/closeStdin`",
  processResize: "`process/resize`",
  processWait: "`process/wait`",
  processSnapshot: "`process/snapshot`",
  processList: "`process/list`",
  processSignals: "signals besides `interrupt`",
  processDeadlines: "`timeoutMs` and `idleTimeoutMs` of `process/start`",
  processKeep: "`keepOnSessionEnd` of `process/start`",
  terminateModes: "`mode` of `process/terminate`",
  processIo: "`io` of `process/start`",
  preparedExec: '`kind: "prepared"` of `process/start`',
  lifecycleNotifications: "`process/started` and `process/failed`, when asked for",
  processEndReason: "the optional fields of this name",
  sandboxReport: "`environment/sandbox`",
  networkDenials: "the optional field of this name",
  processUid: "the optional field of this name, and `uid` in place of `processId`",
  sessionEnd: "`session/end`",
  outputGap: "the optional fields of this name",
  processFailure: "the optional field of this name",
  terminateTree: "`tree` of `process/terminate`",
  signalForeground: "`target` of `process/signal`",
  sessionTakeover: "`takeover` of `initialize`",
  acknowledgedOutput: "`output` of `process/start`, `process/ack`, and the optional fields of this name",
  detachTtl: "`detachTtlMs` of `initialize`",
  rpcDiscover: "`rpc.discover`",
  netConnect: "`net/*`: the server was started with `--allow-tunnel`",
  processDetails: "`details` of `process/list`",
  processName: "`name` of `process/start`, and the optional field of this name",
  processAttach: "`process/attach`, `process/detach`, and what those who are attached are told",
};

export const OPTIONAL_FIELD_TEXTS: Readonly<Record<typeof OPTIONAL_FIELDS[number], string>> = {
  processEndReason: "`endReason` and `signal` in `process/read`, `process/wait` and `process/exited`",
  networkDenials: "`networkDenials` in the same three",
  processUid: "`uid` in the result of `process/start`",
  acknowledgedOutput: "`outputWindowBytes` in the result of `process/start`; `output`, `unacknowledgedBytes` and " +
    "`waitsForAck` in `process/list`",
  detachTtlMs: "`detachTtlMs` in the result of `initialize`",
  processName: "`name` in `process/list`",
  outputGap: "`firstSeq` and `droppedBytes` in `process/read`",
  processFailure:
    "`process/read` and `process/wait` answer (`closed`, not `exited`, with `failure`) also for an id whose " +
    "start failed, until the id is used again",
};

export const OPTIONAL_NOTIFICATION_TEXTS: Readonly<Record<typeof OPTIONAL_NOTIFICATIONS[number], string>> = {
  "process/started": "a process runs",
  "process/failed": "a process could not be started",
  "process/resized": "somebody else has resized the terminal of a process of this session",
};
