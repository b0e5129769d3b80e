/**
 * The one list of request methods: name, family, parameters, and how each may run beside others.
 *
 * The claims keep results as if requests ran in arrival order, and no more than that:
 * - `process:ID`: `process/start` holds it while the child is being started; all else about that process passes behind it.
 * - `stdin:ID`: writes and the end of input keep their order, whatever blocks them; nothing else waits for them.
 * - `files`: reads overlap, writes wait for what came before and hold back what comes after. Starting a process counts as
 *   a read, so that it sees a script written just before.
 */

import type { MethodRow } from "../rpc/method_table.ts";
import type { Claim, Lane } from "../rpc/scheduler.ts";
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

export const METHODS = {
  environmentInfo: row("environment/info", "environment info", NoParams, { lane: "control" }),
  environmentStatus: row("environment/status", "environment status", NoParams, { lane: "control" }),

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
} as const;
