/**
 * The one list of request methods: name, family, parameters, and how each may run beside others.
 *
 * The claims keep results as if requests ran in arrival order, and no more than that:
 * - `process:ID`: `process/start` holds it while the child is being started; all else about that process passes behind it.
 * - `stdin:ID`: writes and the end of input keep their order, whatever blocks them; nothing else waits for them.
 * - `files`: reads overlap, writes wait for what came before and hold back what comes after. Starting a process counts as
 *   a read, so that it sees a script written just before.
 * - `handle:ID`: opening, blocks and closing of one file handle keep their order; blocks are read side by side.
 */

import type { MethodRow } from "../rpc/method_table.ts";
import type { Claim, ClaimMode, Lane } from "../rpc/scheduler.ts";
import { CapabilitiesDiscoverParams, CapabilityRootsDiscoverParams } from "./capability_discovery.ts";
import { EnvironmentConfigReadParams } from "./environment_config.ts";
import * as fs from "./fs.ts";
import { HttpRequestParams } from "./http.ts";
import { NoParams } from "./primitives.ts";
import {
  ProcessCloseStdinParams,
  ProcessListParams,
  ProcessReadParams,
  ProcessResizeParams,
  ProcessSignalParams,
  ProcessSnapshotParams,
  ProcessStartParams,
  ProcessTerminateParams,
  ProcessWaitParams,
  ProcessWriteParams,
} from "./process.ts";

const NO_CLAIMS: readonly Claim[] = [];

function row<Params>(
  name: string,
  family: string,
  params: MethodRow<Params>["params"],
  order: { lane?: Lane | ((params: Params) => Lane); claims?: (params: Params) => readonly Claim[] } = {},
): MethodRow<Params> {
  const { lane = "ordinary", claims = () => NO_CLAIMS } = order;
  return { name, family, params, lane: typeof lane === "function" ? lane : () => lane, claims };
}

const behindStart = ({ processId }: { processId: string }): readonly Claim[] => [
  { resource: `process:${processId}`, mode: "pass" },
];

const inInputOrder = ({ processId }: { processId: string }): readonly Claim[] => [
  { resource: `process:${processId}`, mode: "pass" },
  { resource: `stdin:${processId}`, mode: "exclusive" },
];

const readsFiles = (): readonly Claim[] => READS_FILES;
const READS_FILES: readonly Claim[] = [{ resource: "files", mode: "shared" }];

const writesFiles = (): readonly Claim[] => WRITES_FILES;
const WRITES_FILES: readonly Claim[] = [{ resource: "files", mode: "exclusive" }];

function handle(mode: ClaimMode): (params: { handleId: string }) => Claim {
  return ({ handleId }) => ({ resource: `handle:${handleId}`, mode });
}

const FS = "filesystem";

export const METHODS = {
  environmentInfo: row("environment/info", "environment info", NoParams, { lane: "control" }),
  environmentStatus: row("environment/status", "environment status", NoParams, { lane: "control" }),
  environmentSandbox: row("environment/sandbox", "environment sandbox", NoParams, { lane: "waiting" }),

  environmentConfigRead: row("environmentConfig/read", "environment config", EnvironmentConfigReadParams, {
    claims: readsFiles,
  }),
  capabilityRootsDiscover: row(
    "capabilityRoots/discoverV1",
    "capability discovery",
    CapabilityRootsDiscoverParams,
    { claims: readsFiles },
  ),
  capabilitiesDiscover: row("capabilities/discoverV2", "capability discovery", CapabilitiesDiscoverParams, {
    claims: readsFiles,
  }),

  processStart: row("process/start", "exec", ProcessStartParams, {
    claims: ({ processId }) => [
      { resource: `process:${processId}`, mode: "exclusive" },
      { resource: "files", mode: "shared" },
    ],
  }),
  processRead: row("process/read", "exec", ProcessReadParams, {
    lane: ({ waitMs }) => (waitMs ?? 0) > 0 ? "waiting" : "ordinary",
    claims: behindStart,
  }),
  processWrite: row("process/write", "exec", ProcessWriteParams, { claims: inInputOrder }),
  processCloseStdin: row("process/closeStdin", "exec", ProcessCloseStdinParams, { claims: inInputOrder }),
  processSignal: row("process/signal", "exec", ProcessSignalParams, { lane: "control", claims: behindStart }),
  processTerminate: row("process/terminate", "exec", ProcessTerminateParams, { lane: "control", claims: behindStart }),
  processResize: row("process/resize", "exec", ProcessResizeParams, { lane: "control", claims: behindStart }),
  processWait: row("process/wait", "exec", ProcessWaitParams, { lane: "waiting", claims: behindStart }),
  processSnapshot: row("process/snapshot", "exec", ProcessSnapshotParams, { claims: behindStart }),
  processList: row("process/list", "exec", ProcessListParams, { lane: "control" }),

  fsReadFile: row("fs/readFile", FS, fs.FsReadFileParams, { claims: readsFiles }),
  fsWriteFile: row("fs/writeFile", FS, fs.FsWriteFileParams, { claims: writesFiles }),
  fsGetMetadata: row("fs/getMetadata", FS, fs.FsGetMetadataParams, { claims: readsFiles }),
  fsCanonicalize: row("fs/canonicalize", FS, fs.FsCanonicalizeParams, { claims: readsFiles }),
  fsCreateDirectory: row("fs/createDirectory", FS, fs.FsCreateDirectoryParams, { claims: writesFiles }),
  fsReadDirectory: row("fs/readDirectory", FS, fs.FsReadDirectoryParams, { claims: readsFiles }),
  fsWalk: row("fs/walk", FS, fs.FsWalkParams, { claims: readsFiles }),
  fsRemove: row("fs/remove", FS, fs.FsRemoveParams, { claims: writesFiles }),
  fsCopy: row("fs/copy", FS, fs.FsCopyParams, { claims: writesFiles }),
  fsRename: row("fs/rename", FS, fs.FsRenameParams, { claims: writesFiles }),
  fsChmod: row("fs/chmod", FS, fs.FsChmodParams, { claims: writesFiles }),
  fsSymlink: row("fs/symlink", FS, fs.FsSymlinkParams, { claims: writesFiles }),
  fsOpen: row("fs/open", FS, fs.FsOpenParams, {
    claims: (params) => [
      handle("exclusive")(params),
      { resource: "files", mode: params.mode === "replace" ? "exclusive" : "shared" },
    ],
  }),
  fsReadBlock: row("fs/readBlock", FS, fs.FsReadBlockParams, {
    claims: (params) => [handle("shared")(params), ...READS_FILES],
  }),
  fsWriteBlock: row("fs/writeBlock", FS, fs.FsWriteBlockParams, {
    claims: (params) => [handle("exclusive")(params), ...WRITES_FILES],
  }),
  fsClose: row("fs/close", FS, fs.FsCloseParams, {
    lane: "control",
    claims: (params) => [handle("exclusive")(params)],
  }),
  fsWatchMissing: row("fs/watchMissing", FS, fs.FsWatchMissingParams, { claims: readsFiles }),
  fsWatch: row("fs/watch", FS, fs.FsWatchParams, {
    claims: ({ watchId }) => [{ resource: `watch:${watchId}`, mode: "exclusive" }, ...READS_FILES],
  }),
  fsUnwatch: row("fs/unwatch", FS, fs.FsUnwatchParams, { lane: "control" }),

  httpRequest: row("http/request", "http", HttpRequestParams, { lane: "waiting" }),
} as const;
