/**
 * What the process family answers, and what is told unasked.
 *
 * The server uses the types alone: it builds these objects itself and never loads the schemas. They are for the
 * specification and for tests. Members that a client has to ask for are optional.
 */

import * as z from "zod/mini";
import { ATTACH_ROLES } from "./attach.ts";
import { UnsignedInt } from "./primitives.ts";

const Seq = z.int().check(z.minimum(0));

/** Output as it is on the wire: standard, padded. */
const Base64 = z.string();

// ---------------------------------------------------------------- parts

export const OutputStreamName = z.enum(["stdout", "stderr", "pty"]);
export type OutputStreamName = z.output<typeof OutputStreamName>;

const chunkMembers = {
  seq: Seq,
  stream: OutputStreamName,
  chunk: Base64,
};
export const OutputChunkField = z.object(chunkMembers);
export type OutputChunkField = z.output<typeof OutputChunkField>;

/** Why a process ended; only for clients that asked to be told. */
export const EndReason = z.enum([
  "exit",
  "signal",
  "terminated",
  "timeout",
  "sessionEnded",
  "sessionExpired",
  "serverShutdown",
]);
export type EndReason = z.output<typeof EndReason>;

/** Something a sandbox refused for the sake of the network. */
export const NetworkDenialField = z.object({
  /** `socket(AF_INET, SOCK_STREAM)`, `connect(/run/docker.sock)`. */
  call: z.string(),
  /** Path of the program that tried; null when it could not be learnt. */
  program: z.nullable(z.string()),
});
export type NetworkDenialField = z.output<typeof NetworkDenialField>;

/** Members of a result or notification that a client has to opt in to, since others compare whole objects. */
const detailMembers = {
  endReason: z.exactOptional(z.nullable(EndReason)),
  /** `SIGTERM` and the like, when a signal ended the process. */
  signal: z.exactOptional(z.nullable(z.string())),
  /** So far. Null when it is not known what was refused: no sandbox, one with network, or a system that cannot tell. */
  networkDenials: z.exactOptional(z.nullable(z.array(NetworkDenialField))),
};
export type DetailFields = z.output<z.ZodMiniObject<typeof detailMembers>>;

const ExitCode = z.nullable(z.int());

/** Why the process could not be started, or how the server lost it; for people. */
const Failure = z.nullable(z.string());

// ---------------------------------------------------------------- results

export const ProcessStartResult = z.object({
  processId: z.string(),
  /** Its name in the whole server; only for clients that asked for `processUid`. */
  uid: z.exactOptional(z.string()),
  sandboxType: z.enum(["none", "linuxSeccomp", "macosSeatbelt", "windowsRestrictedToken"]),
  /** How much output may be unacknowledged before the child waits; null with `latest`. Only for `acknowledgedOutput`. */
  outputWindowBytes: z.exactOptional(z.nullable(z.int())),
});
export type ProcessStartResult = z.output<typeof ProcessStartResult>;

export const ProcessReadResult = z.object({
  chunks: z.array(OutputChunkField),
  nextSeq: Seq,
  exited: z.boolean(),
  exitCode: ExitCode,
  closed: z.boolean(),
  failure: Failure,
  sandboxDenied: z.boolean(),
  /** The oldest output that is retained; only for clients that asked for `outputGap`. */
  firstSeq: z.exactOptional(z.nullable(Seq)),
  /** Bytes of output after `afterSeq` that are not retained any more; only for clients that asked for `outputGap`. */
  droppedBytes: z.exactOptional(z.int()),
  ...detailMembers,
});
export type ProcessReadResult = z.output<typeof ProcessReadResult>;

export const WriteStatus = z.enum(["accepted", "unknownProcess", "stdinClosed", "starting"]);
export type WriteStatus = z.output<typeof WriteStatus>;

export const ProcessWriteResult = z.object({ status: WriteStatus });
export type ProcessWriteResult = z.output<typeof ProcessWriteResult>;

export const ProcessCloseStdinResult = z.object({ status: WriteStatus });
export type ProcessCloseStdinResult = z.output<typeof ProcessCloseStdinResult>;

export const ProcessTerminateResult = z.object({
  running: z.boolean(),
  /** With `tree`: how many processes of the operating system were ended. */
  endedCount: z.exactOptional(z.int()),
  /** With `tree`: those that could not be ended. */
  survivorPids: z.exactOptional(z.readonly(z.array(z.int()))),
});
export type ProcessTerminateResult = z.output<typeof ProcessTerminateResult>;

export const ProcessWaitResult = z.object({
  exited: z.boolean(),
  exitCode: ExitCode,
  closed: z.boolean(),
  sandboxDenied: z.boolean(),
  failure: Failure,
  timedOut: z.boolean(),
  nextSeq: Seq,
  ...detailMembers,
});
export type ProcessWaitResult = z.output<typeof ProcessWaitResult>;

export const ProcessSnapshotResult = z.object({
  stdout: Base64,
  stderr: Base64,
  terminal: Base64,
  truncated: z.boolean(),
  exitCode: ExitCode,
  running: z.boolean(),
  nextSeq: Seq,
});
export type ProcessSnapshotResult = z.output<typeof ProcessSnapshotResult>;

export const ListeningPort = z.object({
  address: z.string(),
  port: z.int(),
  /** The pid of the process that listens. */
  pid: z.int(),
});

/** What a process uses with everything that descends from it. Null: it has ended, or the server cannot tell. */
export const ProcessDetails = z.object({
  /** Since 1970, as the next one. */
  startedAtMs: z.int(),
  /** Null: it has written nothing. */
  lastOutputAtMs: z.nullable(z.int()),
  cpuMs: z.nullable(z.int()),
  memoryBytes: z.nullable(z.int()),
  processCount: z.nullable(z.int()),
  /** At most 32. */
  ports: z.array(ListeningPort),
});
export type ProcessDetails = z.output<typeof ProcessDetails>;

export const ProcessListEntry = z.object({
  processId: z.string(),
  /** Its name in the whole server. */
  uid: z.string(),
  /** Null while the child is being started. */
  pid: z.nullable(z.int()),
  argv: z.readonly(z.array(z.string())),
  cwd: z.string(),
  tty: z.boolean(),
  /** Since the start request was taken. */
  ageMs: UnsignedInt,
  exited: z.boolean(),
  exitCode: ExitCode,
  closed: z.boolean(),
  nextSeq: Seq,
  /** It outlived the session that started it, on purpose, and belongs to none. */
  kept: z.boolean(),
  /** It will outlive its session, or has. */
  keepOnSessionEnd: z.boolean(),
  /** This session started it, so that its `processId` means it here. */
  own: z.boolean(),
  /** Only for clients that asked for `processName`. */
  name: z.exactOptional(z.nullable(z.string())),
  /** Only with `details`. */
  details: z.exactOptional(ProcessDetails),
  /** This and the next two only for clients that asked for `acknowledgedOutput`. */
  output: z.exactOptional(z.enum(["latest", "acknowledged"])),
  /** Each chunk counts with its bytes and 200 more. */
  unacknowledgedBytes: z.exactOptional(z.int()),
  /** The child cannot write on before output is acknowledged. */
  waitsForAck: z.exactOptional(z.boolean()),
});
export type ProcessListEntry = z.output<typeof ProcessListEntry>;

export const ProcessListResult = z.object({
  processes: z.array(ProcessListEntry),
  /** Only where the list is longer than one answer: for `after` of the next request. */
  nextAfter: z.exactOptional(z.string()),
});
export type ProcessListResult = z.output<typeof ProcessListResult>;

// ---------------------------------------------------------------- notifications

export const ProcessOutputNotification = z.object({ processId: z.string(), ...chunkMembers });
export type ProcessOutputNotification = z.output<typeof ProcessOutputNotification>;

export const ProcessExitedNotification = z.object({
  processId: z.string(),
  seq: Seq,
  exitCode: z.int(),
  sandboxDenied: z.boolean(),
  ...detailMembers,
});
export type ProcessExitedNotification = z.output<typeof ProcessExitedNotification>;

export const ProcessClosedNotification = z.object({ processId: z.string(), seq: Seq });
export type ProcessClosedNotification = z.output<typeof ProcessClosedNotification>;

/** Carries no seq. */
export const ProcessStartedNotification = z.object({ processId: z.string() });
export type ProcessStartedNotification = z.output<typeof ProcessStartedNotification>;

/** Besides the error answer. Carries no seq. */
export const ProcessFailedNotification = z.object({ processId: z.string(), message: z.string() });
export type ProcessFailedNotification = z.output<typeof ProcessFailedNotification>;

// ---------------------------------------------------------------- process/attach

const sizeMembers = { rows: z.int(), cols: z.int() };

export const ProcessAttachResult = z.object({
  uid: z.string(),
  /** What the session that started it calls it. */
  processId: z.string(),
  name: z.nullable(z.string()),
  role: z.enum(ATTACH_ROLES),
  tty: z.boolean(),
  /** Null without a terminal. */
  size: z.nullable(z.object(sizeMembers)),
  nextSeq: Seq,
  /** The oldest output that is retained. */
  firstSeq: z.nullable(Seq),
  exited: z.boolean(),
  exitCode: ExitCode,
  closed: z.boolean(),
});
export type ProcessAttachResult = z.output<typeof ProcessAttachResult>;

export const ProcessViewOutputNotification = z.object({
  uid: z.string(),
  ...chunkMembers,
  /** How many bytes before this chunk were dropped before they could be sent. Only where there are some. */
  droppedBytes: z.exactOptional(z.int()),
});
export type ProcessViewOutputNotification = z.output<typeof ProcessViewOutputNotification>;

export const ProcessViewExitedNotification = z.object({
  uid: z.string(),
  seq: Seq,
  exitCode: z.int(),
  sandboxDenied: z.boolean(),
  ...detailMembers,
});
export type ProcessViewExitedNotification = z.output<typeof ProcessViewExitedNotification>;

/** The last that is told. */
export const ProcessViewClosedNotification = z.object({ uid: z.string(), seq: Seq });
export type ProcessViewClosedNotification = z.output<typeof ProcessViewClosedNotification>;

/** Somebody else has changed the size of the terminal. */
export const ProcessResizedNotification = z.object({ uid: z.string(), processId: z.string(), ...sizeMembers });
export type ProcessResizedNotification = z.output<typeof ProcessResizedNotification>;
