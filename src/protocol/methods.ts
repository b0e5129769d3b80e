/**
 * The one table: every request and notification with its parameters, its result, what it may fail with, how it may run
 * beside others, and a sentence about it.
 *
 * The dispatcher, the types of the client (`method_types.ts`) and the specification are made from it. A new method begins
 * as a row here. What has to be said of it elsewhere is typed by the table, so that it does not compile when it is missing
 * (`client/session/repeatable.ts`, `spec/`), or a test asks for it (`base64.ts`, `conform/checks/`, `client/`).
 *
 * Results are not checked on their way out, so their schemas are not loaded with the table. A test checks every result
 * that the tests of the whole server see.
 *
 * More than 300 lines: it is one list.
 */

import * as size from "./answer_sizes.ts";
import { ProcessAttachParams, ProcessDetachParams } from "./attach.ts";
import { CapabilitiesDiscoverParams, CapabilityRootsDiscoverParams } from "./capability_discovery.ts";
import * as claims from "./claims.ts";
import type { ParamsSchema } from "./decode_params.ts";
import { EnvironmentConfigReadParams } from "./environment_config.ts";
import * as fs from "./fs.ts";
import { InitializeParams } from "./handshake.ts";
import { HttpRequestParams } from "./http.ts";
import type { Claim, ClaimScope, Errors, Lane, MethodRow, NotificationRow, ParamsOf, Typed } from "./method_row.ts";
import { NoParams } from "./primitives.ts";
import * as net from "./net.ts";
import * as process from "./process.ts";

/** What every request can be answered with instead of its result. */
export const COMMON_ERRORS = {
  invalidRequest:
    "The handshake is not complete, a bound is reached, or the request cannot be honoured as things stand.",
  methodNotFound: "There is no such method.",
  invalidParams: "The parameters do not decode, or contradict each other.",
  internal: "The operating system or a child refused, or the server made a mistake.",
} as const satisfies Errors;

/** A row as it is written. What is left out is the usual. */
interface WrittenRow<Name extends string, Params extends ParamsSchema<unknown>, Result extends Typed<unknown>> {
  readonly name: Name;
  readonly description: string;
  readonly since: string;
  /** Left out: every server has the method. */
  readonly capability?: string;
  readonly family: string;
  readonly params: Params;
  readonly result: () => Promise<Result>;
  readonly errors?: Errors;
  /** Left out: `ordinary`. */
  readonly lane?: Lane | ((params: ParamsOf<Params>) => Lane);
  /** Left out: none. */
  readonly claims?: (params: ParamsOf<Params>, scope: ClaimScope) => readonly Claim[];
  /** Left out: a few kilobytes. */
  readonly answerBytes?: number | ((params: ParamsOf<Params>) => number);
}

function request<const Name extends string, Params extends ParamsSchema<unknown>, Result extends Typed<unknown>>(
  written: WrittenRow<Name, Params, Result>,
): MethodRow<Name, Params, Result> {
  const { capability = null, errors = {}, lane = "ordinary", answerBytes, ...row } = written;
  return {
    claims: claims.noClaims,
    ...row,
    params: row.params as MethodRow<Name, Params, Result>["params"],
    capability,
    errors,
    lane: typeof lane === "function" ? lane : () => lane,
    ...(answerBytes === undefined
      ? {}
      : { answerBytes: typeof answerBytes === "function" ? answerBytes : () => answerBytes }),
  };
}

const results = () => import("./results.ts");
const nothing = async () => (await results()).Nothing;

const UNKNOWN_PROCESS: Errors = { invalidRequest: "No process of this name can be reached from here." };
const NO_FILE: Errors = { notFound: "There is no file or directory at the path, or the sandbox hides it." };
const NO_PARENT: Errors = { notFound: "There is no directory to put it into, or the sandbox hides it." };
const NO_TUNNELS = "This server opens no tunnels";
const NO_TUNNEL: Errors = { invalidRequest: `${NO_TUNNELS}, or there is no such tunnel.` };
const NO_HANDLE: Errors = { notFound: "There is no such file handle." };

export const METHODS = {
  initialize: request({
    name: "initialize",
    description: "Opens a session, or resumes one after a lost connection, and describes the server's machine.",
    since: "0.1.0",
    family: "handshake",
    params: InitializeParams,
    result: async () => (await results()).InitializeResult,
    errors: {
      invalidRequest: "It was sent before on this connection, or there is no such session to resume.",
      sessionAttached: "The session to resume has a connection that may still live.",
    },
    lane: "control",
  }),

  rpcDiscover: request({
    name: "rpc.discover",
    description: "Returns the description of this protocol: an OpenRPC document.",
    since: "0.1.0",
    capability: "rpcDiscover",
    family: "discovery",
    params: NoParams,
    result: async () => (await results()).RpcDiscoverResult,
    lane: "control",
  }),

  // ---------------------------------------------------------------- the server's machine

  environmentInfo: request({
    name: "environment/info",
    description: "Describes the server's machine, as `initialize` does.",
    since: "0.1.0",
    family: "environment info",
    params: NoParams,
    result: async () => (await results()).EnvironmentInfo,
    lane: "control",
  }),
  environmentStatus: request({
    name: "environment/status",
    description: "Says that the server is ready.",
    since: "0.1.0",
    family: "environment status",
    params: NoParams,
    result: async () => (await results()).EnvironmentStatus,
    lane: "control",
  }),
  environmentSandbox: request({
    name: "environment/sandbox",
    description: "Says what sandboxes are made with on the server's machine, after a trial where there was none yet.",
    since: "0.1.0",
    capability: "sandboxReport",
    family: "environment sandbox",
    params: NoParams,
    result: async () => (await results()).SandboxReport,
    lane: "waiting",
  }),
  environmentConfigRead: request({
    name: "environmentConfig/read",
    description: "Reads chosen keys of the configuration files that apply to a directory.",
    since: "0.1.0",
    capability: "environmentConfigRead",
    family: "environment config",
    params: EnvironmentConfigReadParams,
    result: async () => (await results()).EnvironmentConfigReadResult,
    errors: { internal: "A configuration file cannot be read, or is not what it should be." },
    claims: claims.readsFiles,
    answerBytes: size.CONFIGURATION_BYTES,
  }),
  capabilityRootsDiscover: request({
    name: "capabilityRoots/discoverV1",
    description: "Finds the plugins and skills below given directories, with the texts of their files.",
    since: "0.1.0",
    family: "capability discovery",
    params: CapabilityRootsDiscoverParams,
    result: async () => (await results()).CapabilityRootsDiscoverResult,
    errors: { invalidRequest: "There are too many roots." },
    claims: claims.readsFiles,
    answerBytes: size.CONFIGURATION_BYTES,
  }),
  capabilitiesDiscover: request({
    name: "capabilities/discoverV2",
    description: "Lists the installed plugins and skills.",
    since: "0.1.0",
    capability: "capabilityDiscoveryV2",
    family: "capability discovery",
    params: CapabilitiesDiscoverParams,
    result: async () => (await results()).CapabilitiesDiscoverResult,
    errors: { internal: "No home directory is known." },
    claims: claims.readsFiles,
    answerBytes: size.CONFIGURATION_BYTES,
  }),

  sessionEnd: request({
    name: "session/end",
    description: "Ends the session with its processes, except kept ones, and then the connection.",
    since: "0.1.0",
    capability: "sessionEnd",
    family: "session",
    params: NoParams,
    result: nothing,
    lane: "control",
  }),

  // ---------------------------------------------------------------- processes

  processStart: request({
    name: "process/start",
    description: "Starts a process on pipes or on a terminal, in a sandbox where one is asked for.",
    since: "0.1.0",
    family: "exec",
    params: process.ProcessStartParams,
    result: async () => (await results()).ProcessStartResult,
    errors: {
      invalidRequest:
        "The id or name is in use, the sandbox cannot be enforced, there are too many processes, or no room to hold output.",
      internal: "The operating system cannot start the program.",
    },
    claims: claims.startsProcess,
  }),
  processRead: request({
    name: "process/read",
    description:
      "Returns retained output after a sequence number and the state of the process, at once or when there is some.",
    since: "0.1.0",
    family: "exec",
    params: process.ProcessReadParams,
    result: async () => (await results()).ProcessReadResult,
    errors: UNKNOWN_PROCESS,
    lane: ({ waitMs }) => (waitMs ?? 0) > 0 ? "waiting" : "ordinary",
    claims: claims.behindStart,
    answerBytes: size.outputAnswerBytes(size.OUTPUT_BYTES),
  }),
  processAck: request({
    name: "process/ack",
    description:
      "Says that the client is done with the events of a process up to a number, which need not be held for it.",
    since: "0.1.0",
    capability: "acknowledgedOutput",
    family: "exec",
    params: process.ProcessAckParams,
    result: nothing,
    errors: { invalidRequest: "No process of this name can be reached from here, or it is another session's." },
    lane: "control",
    claims: claims.behindStart,
  }),
  processWrite: request({
    name: "process/write",
    description: "Writes to the standard input or terminal of a process.",
    since: "0.1.0",
    family: "exec",
    params: process.ProcessWriteParams,
    result: async () => (await results()).ProcessWriteResult,
    claims: claims.inInputOrder,
  }),
  processCloseStdin: request({
    name: "process/closeStdin",
    description: "Ends the input of a process; a terminal gets Ctrl-D.",
    since: "0.1.0",
    capability: "processCloseStdin",
    family: "exec",
    params: process.ProcessCloseStdinParams,
    result: async () => (await results()).ProcessCloseStdinResult,
    claims: claims.inInputOrder,
  }),
  processSignal: request({
    name: "process/signal",
    description: "Sends a signal to the group of a process, or to the group in the foreground of its terminal.",
    since: "0.1.0",
    family: "exec",
    params: process.ProcessSignalParams,
    result: nothing,
    errors: {
      invalidRequest: "The foreground is asked for, and the process has no terminal; or it is attached to as a viewer.",
    },
    lane: "control",
    claims: claims.behindStart,
  }),
  processTerminate: request({
    name: "process/terminate",
    description: "Ends a process at once or after a warning, and everything that descends from it where asked.",
    since: "0.1.0",
    family: "exec",
    params: process.ProcessTerminateParams,
    result: async () => (await results()).ProcessTerminateResult,
    errors: { invalidRequest: "Descendants are to be ended, and cannot be found on this system." },
    // With descendants to end it answers when they have, which takes as long as they are given.
    lane: ({ tree, mode }) => tree && mode.type === "graceful" ? "waiting" : "control",
    claims: claims.behindStart,
  }),
  processResize: request({
    name: "process/resize",
    description: "Changes the size of the terminal of a process.",
    since: "0.1.0",
    capability: "processResize",
    family: "exec",
    params: process.ProcessResizeParams,
    result: nothing,
    errors: { invalidRequest: "No process of this name can be reached from here, or it has no terminal." },
    lane: "control",
    claims: claims.behindStart,
  }),
  processWait: request({
    name: "process/wait",
    description: "Waits until a process has exited, or until all its output has come too.",
    since: "0.1.0",
    capability: "processWait",
    family: "exec",
    params: process.ProcessWaitParams,
    result: async () => (await results()).ProcessWaitResult,
    errors: UNKNOWN_PROCESS,
    lane: "waiting",
    claims: claims.behindStart,
  }),
  processSnapshot: request({
    name: "process/snapshot",
    description: "Returns the first and the last part of what a process has written, for each of its streams.",
    since: "0.1.0",
    capability: "processSnapshot",
    family: "exec",
    params: process.ProcessSnapshotParams,
    result: async () => (await results()).ProcessSnapshotResult,
    errors: UNKNOWN_PROCESS,
    claims: claims.behindStart,
    answerBytes: size.outputAnswerBytes(size.OUTPUT_BYTES),
  }),
  processList: request({
    name: "process/list",
    description: "Lists the processes of this session, and kept ones of others where asked.",
    since: "0.1.0",
    capability: "processList",
    family: "exec",
    params: process.ProcessListParams,
    result: async () => (await results()).ProcessListResult,
    lane: (params) => params?.details === true ? "waiting" : "control",
    claims: claims.listsProcesses,
  }),
  processAttach: request({
    name: "process/attach",
    description:
      "Follows a process of any session that can be reached, from its retained output on, or takes control of it.",
    since: "0.1.0",
    capability: "processAttach",
    family: "exec",
    params: ProcessAttachParams,
    result: async () => (await results()).ProcessAttachResult,
    errors: { invalidRequest: "No process of this name can be reached from here, or too many are attached to." },
    lane: "control",
  }),
  processDetach: request({
    name: "process/detach",
    description: "Follows a process no more; one that is not followed is no error.",
    since: "0.1.0",
    capability: "processAttach",
    family: "exec",
    params: ProcessDetachParams,
    result: nothing,
    lane: "control",
  }),

  // ---------------------------------------------------------------- files

  fsReadFile: request({
    name: "fs/readFile",
    description: "Returns the content of a file, or a part of it.",
    since: "0.1.0",
    family: "filesystem",
    params: fs.FsReadFileParams,
    result: async () => (await results()).FsReadFileResult,
    errors: { ...NO_FILE, invalidRequest: "The path is not a regular file, or the content is too large." },
    claims: claims.readsFiles,
    answerBytes: size.base64Bytes(size.SHORT_FILE_BYTES),
  }),
  fsWriteFile: request({
    name: "fs/writeFile",
    description: "Writes a whole file; atomically, or only if it is unchanged, where asked.",
    since: "0.1.0",
    family: "filesystem",
    params: fs.FsWriteFileParams,
    result: nothing,
    errors: {
      ...NO_PARENT,
      invalidRequest: "The file is not what the caller expects, or the promises cannot be kept.",
    },
    claims: claims.writesFiles,
  }),
  fsGetMetadata: request({
    name: "fs/getMetadata",
    description: "Says what is at a path: kind, size, times, and more where asked.",
    since: "0.1.0",
    family: "filesystem",
    params: fs.FsGetMetadataParams,
    result: async () => (await results()).FsGetMetadataResult,
    errors: NO_FILE,
    claims: claims.readsFiles,
  }),
  fsCanonicalize: request({
    name: "fs/canonicalize",
    description: "Returns the path without links, `.` and `..`.",
    since: "0.1.0",
    family: "filesystem",
    params: fs.FsCanonicalizeParams,
    result: async () => (await results()).FsCanonicalizeResult,
    errors: NO_FILE,
    claims: claims.readsFiles,
  }),
  fsCreateDirectory: request({
    name: "fs/createDirectory",
    description: "Makes a directory, and those above it where asked.",
    since: "0.1.0",
    family: "filesystem",
    params: fs.FsCreateDirectoryParams,
    result: nothing,
    errors: NO_PARENT,
    claims: claims.writesFiles,
  }),
  fsReadDirectory: request({
    name: "fs/readDirectory",
    description: "Lists the names in a directory and what each leads to.",
    since: "0.1.0",
    family: "filesystem",
    params: fs.FsReadDirectoryParams,
    result: async () => (await results()).FsReadDirectoryResult,
    errors: NO_FILE,
    claims: claims.readsFiles,
    answerBytes: size.DIRECTORY_BYTES,
  }),
  fsList: request({
    name: "fs/list",
    description: "Lists the names in a directory with kind, size, mode, times and owner of each, and where links lead.",
    since: "0.1.0",
    capability: "fsList",
    family: "filesystem",
    params: fs.FsListParams,
    result: async () => (await results()).FsListResult,
    errors: NO_FILE,
    claims: claims.readsFiles,
    answerBytes: size.DIRECTORY_BYTES,
  }),
  fsWalk: request({
    name: "fs/walk",
    description: "Lists files and directories below a path, within given bounds.",
    since: "0.1.0",
    family: "filesystem",
    params: fs.FsWalkParams,
    result: async () => (await results()).FsWalkResult,
    errors: NO_FILE,
    claims: claims.readsFiles,
    answerBytes: size.WALK_BYTES,
  }),
  fsRemove: request({
    name: "fs/remove",
    description: "Removes a file, a link or a directory.",
    since: "0.1.0",
    family: "filesystem",
    params: fs.FsRemoveParams,
    result: nothing,
    errors: NO_FILE,
    claims: claims.writesFiles,
  }),
  fsCopy: request({
    name: "fs/copy",
    description: "Copies a file, a link or a whole directory.",
    since: "0.1.0",
    family: "filesystem",
    params: fs.FsCopyParams,
    result: nothing,
    errors: {
      ...NO_FILE,
      invalidRequest: "The source is of a kind that cannot be copied, or contains the destination.",
    },
    claims: claims.writesFiles,
  }),
  fsRename: request({
    name: "fs/rename",
    description: "Renames a file, a link or a directory within one filesystem.",
    since: "0.1.0",
    capability: "fsRename",
    family: "filesystem",
    params: fs.FsRenameParams,
    result: nothing,
    errors: NO_FILE,
    claims: claims.writesFiles,
  }),
  fsChmod: request({
    name: "fs/chmod",
    description: "Sets permission, set-id and sticky bits.",
    since: "0.1.0",
    capability: "fsChmod",
    family: "filesystem",
    params: fs.FsChmodParams,
    result: nothing,
    errors: NO_FILE,
    claims: claims.writesFiles,
  }),
  fsSetTimes: request({
    name: "fs/setTimes",
    description: "Sets the time of modification.",
    since: "0.1.0",
    capability: "fsSetTimes",
    family: "filesystem",
    params: fs.FsSetTimesParams,
    result: nothing,
    errors: NO_FILE,
    claims: claims.writesFiles,
  }),
  fsSymlink: request({
    name: "fs/symlink",
    description: "Makes a symbolic link.",
    since: "0.1.0",
    capability: "fsSymlink",
    family: "filesystem",
    params: fs.FsSymlinkParams,
    result: nothing,
    errors: NO_PARENT,
    claims: claims.writesFiles,
  }),
  fsOpen: request({
    name: "fs/open",
    description: "Opens a file to be read, replaced or changed block by block, under a name of the client's choice.",
    since: "0.1.0",
    family: "filesystem",
    params: fs.FsOpenParams,
    result: async () => (await results()).FsOpenResult,
    errors: { ...NO_FILE, invalidRequest: "The name is in use, too many are, or the path is not a regular file." },
    claims: claims.opensHandle,
  }),
  fsReadBlock: request({
    name: "fs/readBlock",
    description: "Returns a block of an open file.",
    since: "0.1.0",
    family: "filesystem",
    params: fs.FsReadBlockParams,
    result: async () => (await results()).FsReadBlockResult,
    errors: { ...NO_HANDLE, invalidRequest: "The block is empty or too long." },
    claims: claims.ofHandle("shared", claims.READS_FILES),
    answerBytes: ({ len }) => size.base64Bytes(Math.min(len, size.BLOCK_BYTES)),
  }),
  fsWriteBlock: request({
    name: "fs/writeBlock",
    description: "Writes a block of a file that was opened to be replaced or changed.",
    since: "0.1.0",
    capability: "fileWriteStreaming",
    family: "filesystem",
    params: fs.FsWriteBlockParams,
    result: nothing,
    errors: { ...NO_HANDLE, invalidRequest: "The block is empty or too long, or lies beyond the largest file." },
    claims: claims.ofHandle("exclusive", claims.WRITES_FILES),
  }),
  fsClose: request({
    name: "fs/close",
    description: "Closes an open file; one that is not open is no error.",
    since: "0.1.0",
    family: "filesystem",
    params: fs.FsCloseParams,
    result: nothing,
    lane: "control",
    claims: claims.ofHandle("exclusive", []),
  }),
  fsWatchMissing: request({
    name: "fs/watchMissing",
    description: "Tells once when one of several missing paths appears, or a present one changes.",
    since: "0.1.0",
    capability: "fsWatchMissing",
    family: "filesystem",
    params: fs.FsWatchMissingParams,
    result: async () => (await results()).FsWatchMissingResult,
    claims: claims.readsFiles,
  }),
  fsWatch: request({
    name: "fs/watch",
    description: "Tells of changes at and below a path until it is told to stop.",
    since: "0.1.0",
    capability: "fsWatch",
    family: "filesystem",
    params: fs.FsWatchParams,
    result: nothing,
    errors: {
      ...NO_FILE,
      invalidRequest: "The id is in use, there are too many watches, or the path cannot be watched.",
    },
    claims: claims.makesWatch,
  }),
  fsUnwatch: request({
    name: "fs/unwatch",
    description: "Ends a watch; one that has ended is no error.",
    since: "0.1.0",
    capability: "fsWatch",
    family: "filesystem",
    params: fs.FsUnwatchParams,
    result: nothing,
    lane: "control",
  }),

  // ---------------------------------------------------------------- web

  httpRequest: request({
    name: "http/request",
    description: "Makes an HTTP request from the server's machine and returns its answer, or streams the body.",
    since: "0.1.0",
    family: "http",
    params: HttpRequestParams,
    result: async () => (await results()).HttpRequestResult,
    errors: {
      invalidRequest: "Too many requests are open.",
      internal: "The other server could not be reached, or its answer could not be read.",
    },
    lane: "waiting",
  }),

  // ---------------------------------------------------------------- ports of the server's machine

  netConnect: request({
    name: "net/connect",
    description:
      "Connects to a port on a loopback address of the server's machine, under a name of the client's choice.",
    since: "0.1.0",
    capability: "netConnect",
    family: "net",
    params: net.NetConnectParams,
    result: nothing,
    errors: {
      invalidRequest: `${NO_TUNNELS}, the name is in use, or too many are.`,
      internal: "Nobody listens there.",
    },
    lane: "waiting",
    claims: claims.ofTunnel,
  }),
  netWrite: request({
    name: "net/write",
    description: "Sends bytes through a tunnel; answered when they were taken.",
    since: "0.1.0",
    capability: "netConnect",
    family: "net",
    params: net.NetWriteParams,
    result: nothing,
    errors: { ...NO_TUNNEL, internal: "The other end takes nothing more." },
    lane: "waiting",
    claims: claims.ofTunnel,
  }),
  netCloseWrite: request({
    name: "net/closeWrite",
    description: "Says that nothing more will be sent through a tunnel.",
    since: "0.1.0",
    capability: "netConnect",
    family: "net",
    params: net.NetTunnelParams,
    result: nothing,
    errors: NO_TUNNEL,
    lane: "waiting",
    claims: claims.ofTunnel,
  }),
  netAck: request({
    name: "net/ack",
    description: "Says how many bytes of a tunnel the client is done with, so that more may come.",
    since: "0.1.0",
    capability: "netConnect",
    family: "net",
    params: net.NetAckParams,
    result: nothing,
    errors: { invalidRequest: `${NO_TUNNELS}.` },
    lane: "control",
  }),
  netClose: request({
    name: "net/close",
    description: "Closes a tunnel at once; one that is not open is no error.",
    since: "0.1.0",
    capability: "netConnect",
    family: "net",
    params: net.NetTunnelParams,
    result: nothing,
    errors: { invalidRequest: `${NO_TUNNELS}.` },
    lane: "control",
  }),
} as const;

function notification<const Name extends string, Params extends Typed<unknown>>(
  written: Omit<NotificationRow<Name, Params>, "from" | "capability"> & { capability?: string },
): NotificationRow<Name, Params, "server"> {
  return { from: "server", capability: null, ...written };
}

export const NOTIFICATIONS = {
  initialized: {
    name: "initialized",
    from: "client",
    description: "Completes the handshake: from here on requests are taken and notifications sent.",
    since: "0.1.0",
    capability: null,
    params: async () => (await results()).InitializedNotification,
  },
  processOutput: notification({
    name: "process/output",
    description: "A process has written something.",
    since: "0.1.0",
    params: async () => (await results()).ProcessOutputNotification,
  }),
  processExited: notification({
    name: "process/exited",
    description: "A process has exited; output of its descendants may still follow.",
    since: "0.1.0",
    params: async () => (await results()).ProcessExitedNotification,
  }),
  processClosed: notification({
    name: "process/closed",
    description: "A process has exited and all its output has been sent.",
    since: "0.1.0",
    params: async () => (await results()).ProcessClosedNotification,
  }),
  processStarted: notification({
    name: "process/started",
    description: "A process runs; only for clients that asked to be told.",
    since: "0.1.0",
    capability: "lifecycleNotifications",
    params: async () => (await results()).ProcessStartedNotification,
  }),
  processFailed: notification({
    name: "process/failed",
    description: "A process could not be started; only for clients that asked to be told.",
    since: "0.1.0",
    capability: "lifecycleNotifications",
    params: async () => (await results()).ProcessFailedNotification,
  }),
  processViewOutput: notification({
    name: "process/viewOutput",
    description: "A process that is attached to has written something.",
    since: "0.1.0",
    capability: "processAttach",
    params: async () => (await results()).ProcessViewOutputNotification,
  }),
  processViewExited: notification({
    name: "process/viewExited",
    description: "A process that is attached to has exited; output of its descendants may still follow.",
    since: "0.1.0",
    capability: "processAttach",
    params: async () => (await results()).ProcessViewExitedNotification,
  }),
  processViewClosed: notification({
    name: "process/viewClosed",
    description: "A process that is attached to has exited and all its output has been sent: the attachment is over.",
    since: "0.1.0",
    capability: "processAttach",
    params: async () => (await results()).ProcessViewClosedNotification,
  }),
  processResized: notification({
    name: "process/resized",
    description:
      "Somebody else has changed the size of a terminal; for those attached, and for its session if it asked.",
    since: "0.1.0",
    capability: "processAttach",
    params: async () => (await results()).ProcessResizedNotification,
  }),
  fsMissingChanged: notification({
    name: "fs/missingChanged",
    description: "What `fs/watchMissing` waits for has happened.",
    since: "0.1.0",
    capability: "fsWatchMissing",
    params: async () => (await results()).FsMissingChangedNotification,
  }),
  fsChanged: notification({
    name: "fs/changed",
    description: "Something has changed at or below a watched path.",
    since: "0.1.0",
    capability: "fsWatch",
    params: async () => (await results()).FsChangedNotification,
  }),
  netData: notification({
    name: "net/data",
    description: "Something has come through a tunnel.",
    since: "0.1.0",
    capability: "netConnect",
    params: async () => (await results()).NetDataNotification,
  }),
  netEnded: notification({
    name: "net/ended",
    description: "The other end of a tunnel sends nothing more.",
    since: "0.1.0",
    capability: "netConnect",
    params: async () => (await results()).NetEndedNotification,
  }),
  netClosed: notification({
    name: "net/closed",
    description: "A tunnel has ended in both directions, or has failed.",
    since: "0.1.0",
    capability: "netConnect",
    params: async () => (await results()).NetClosedNotification,
  }),
  httpBodyDelta: notification({
    name: "http/request/bodyDelta",
    description: "A part of the body of a streamed answer to `http/request`.",
    since: "0.1.0",
    params: async () => (await results()).HttpBodyDeltaNotification,
  }),
} as const;
