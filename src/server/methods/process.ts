/** `process/*`: wire parameters to the session's processes, and their answers to wire results. No policy. */

import { invalidRequest } from "../../errors.ts";
import { childEnv } from "../../launch/child_env.ts";
import { type LogFields, shortened } from "../../log.ts";
import { toFileUri } from "../../path_uri.ts";
import type { SpawnRequest } from "../../process/backend.ts";
import type { ProcessInfo, ProcessStatus } from "../../process/process_views.ts";
import { METHODS } from "../../protocol/methods.ts";
import type {
  ProcessListEntry,
  ProcessListResult,
  ProcessReadResult,
  ProcessSnapshotResult,
  ProcessStartRequest,
  ProcessStartResult,
  ProcessTerminateResult,
  ProcessWaitResult,
  ProcessWriteResult,
  WriteStatus,
} from "../../protocol/process.ts";
import type { MethodTable } from "../../rpc/method_table.ts";
import type { CallContext, Outlet } from "../connection.ts";
import { detailFields } from "../process_outlet.ts";
import type { SessionState } from "../session_state.ts";

type Context = CallContext<SessionState>;

export function bindProcessMethods(table: MethodTable<Context>): void {
  table.bind(METHODS.processStart, start);

  table.bind(METHODS.processRead, ({ processId, afterSeq, maxBytes, waitMs }, { resources, signal, outlet }) => {
    const outcome = resources.managerOf(processId).read(processId, {
      afterSeq: afterSeq ?? 0,
      maxBytes: maxBytes ?? null,
      waitMs: waitMs ?? 0,
      signal,
    });
    const answer = ({ chunks, ...status }: Awaited<typeof outcome>): ProcessReadResult => ({
      chunks: chunks.map(({ seq, stream, bytes }) => ({ seq, stream, chunk: bytes.toBase64() })),
      nextSeq: status.nextSeq,
      ...exitFields(outlet, status),
    });
    return outcome instanceof Promise ? outcome.then(answer) : answer(outcome);
  });

  table.bind(METHODS.processWrite, ({ processId, chunk, writeId }, { resources, signal }) => {
    return inStatus(resources.managerOf(processId).write(processId, chunk, { writeId: writeId ?? null, signal }));
  });

  table.bind(METHODS.processCloseStdin, ({ processId }, { resources, signal }) => {
    return inStatus(resources.managerOf(processId).closeStdin(processId, signal));
  });

  table.bind(METHODS.processSignal, ({ processId, signal }, { resources }) => {
    resources.managerOf(processId).signal(processId, signal);
    return {};
  });

  table.bind(METHODS.processTerminate, ({ processId, mode }, { resources }): ProcessTerminateResult => {
    return { running: resources.managerOf(processId).terminate(processId, mode) };
  });

  table.bind(METHODS.processResize, ({ processId, rows, cols }, { resources }) => {
    resources.managerOf(processId).resize(processId, { rows, cols });
    return {};
  });

  table.bind(METHODS.processWait, async ({ processId, timeoutMs, until }, context): Promise<ProcessWaitResult> => {
    const { resources, outlet, signal } = context;
    const outcome = await resources.managerOf(processId).wait(processId, {
      until,
      timeoutMs: timeoutMs ?? null,
      signal,
    });
    return { ...exitFields(outlet, outcome), timedOut: outcome.timedOut, nextSeq: outcome.nextSeq };
  });

  table.bind(METHODS.processSnapshot, ({ processId }, { resources }): ProcessSnapshotResult => {
    const { stdout, stderr, terminal, truncated, exit, nextSeq } = resources.managerOf(processId).snapshot(processId);
    return {
      stdout: stdout.toBase64(),
      stderr: stderr.toBase64(),
      terminal: terminal.toBase64(),
      truncated,
      exitCode: exit?.exitCode ?? null,
      running: exit === null,
      nextSeq,
    };
  });

  table.bind(METHODS.processList, (_params, { resources }): ProcessListResult => ({
    processes: [
      ...resources.processes.list().map((info) => listEntry(info, { kept: false })),
      ...resources.kept.list().map((info) => listEntry(info, { kept: true })),
    ],
  }));
}

async function start(params: ProcessStartRequest, context: Context): Promise<ProcessStartResult> {
  context.label({ process: params.processId, ...metadataFields(params.metadata) });
  // Never run without the proxy a client relies on to watch over the network.
  if (params.networkProxy !== null) throw invalidRequest("this server has no network proxy to launch processes with");
  const { processes, settings, shells } = context.resources;
  const { arg0, io, sandbox, enforceManagedNetwork, shellSnapshot: snapshot } = params;
  const isSandboxed = sandbox !== null;
  const sandboxing = isSandboxed ? await settings.sandboxing() : null;
  const withCommand = (command: { argv: readonly string[]; env: Readonly<Record<string, string>> }): SpawnRequest => {
    const request = { ...command, arg0, cwd: params.cwd.native, io };
    const confinement = sandboxing?.confineCommand(sandbox, { ...request, enforceManagedNetwork }) ?? null;
    return confinement === null ? request : { ...request, confinement };
  };
  const env = params.kind === "prepared" ? params.env : childEnv(params, settings.serverEnv);
  const request = withCommand({ argv: params.argv, env });
  const confinement = [sandbox, enforceManagedNetwork];
  const started = await processes.start({
    processId: params.processId,
    kind: params.kind,
    request,
    // What is prepared starts exactly as it is given.
    ...(snapshot === null || params.kind === "prepared"
      ? {}
      : { substitute: () => shells.substitute({ snapshot, request, withCommand, confinement }) }),
    isSandboxed,
    timeoutMs: params.timeoutMs,
    idleTimeoutMs: params.idleTimeoutMs,
    keepOnSessionEnd: params.keepOnSessionEnd ?? settings.keepOnSessionEnd,
    log: context.log,
  });
  context.afterReply(() => started.release());
  return { processId: started.processId, sandboxType: isSandboxed ? SANDBOX_TYPE : "none" };
}

/** What the client calls the work a process is for; it chooses the text, so the log takes a bounded part of it. */
function metadataFields(metadata: ProcessStartRequest["metadata"]): LogFields {
  if (metadata === null) return {};
  const { threadId, toolCallId } = metadata;
  return {
    thread: threadId ?? undefined,
    toolCall: toolCallId == null ? undefined : shortened(toolCallId, MAX_LOGGED_TOOL_CALL_CHARS),
  };
}

/** Ids of tool calls have some thirty characters. */
const MAX_LOGGED_TOOL_CALL_CHARS = 128;

/** Told for every sandbox object, also for one that confines nothing, as the reference does. */
const SANDBOX_TYPE = Deno.build.os === "darwin" ? "macosSeatbelt" : "linuxSeccomp";

function listEntry(info: ProcessInfo, { kept }: { kept: boolean }): ProcessListEntry {
  const { processId, pid, argv, cwd, tty, ageMs, exit, closed, nextSeq } = info;
  return {
    processId,
    pid,
    argv,
    cwd: toFileUri(cwd),
    tty,
    ageMs,
    exited: exit !== null,
    exitCode: exit?.exitCode ?? null,
    closed,
    nextSeq,
    kept,
  };
}

function inStatus(status: WriteStatus | Promise<WriteStatus>): ProcessWriteResult | Promise<ProcessWriteResult> {
  return status instanceof Promise ? status.then((settled) => ({ status: settled })) : { status };
}

/** What `process/read` and `process/wait` both say of the present. `failure` is part of the shape and never set. */
function exitFields(outlet: Outlet, { exit, closed, networkDenials }: ProcessStatus) {
  return {
    exited: exit !== null,
    exitCode: exit?.exitCode ?? null,
    closed,
    failure: null,
    sandboxDenied: exit?.sandboxDenied ?? false,
    ...detailFields(outlet, { end: exit?.end ?? null, networkDenials }),
  };
}
