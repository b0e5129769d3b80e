/** `process/*`: wire parameters to the session's processes, and their answers to wire results. No policy. */

import { invalidRequest } from "../../errors.ts";
import { whyNoLibc } from "../../os/libc_access.ts";
import type { ManagedProcess } from "../../process/session/managed_process.ts";
import type { ProcessStatus, ReadOutcome, WaitOutcome } from "../../process/session/process_views.ts";
import { outputAnswerBytes } from "../../protocol/answer_sizes.ts";
import { SHORT_LIST_BYTES } from "../../protocol/limits.ts";
import { METHODS } from "../../protocol/methods.ts";
import type {
  ProcessListResult,
  ProcessReadResult,
  ProcessSnapshotResult,
  ProcessTerminateResult,
  ProcessWaitResult,
  ProcessWriteResult,
  WriteStatus,
} from "../../protocol/process.ts";
import type { ProcessRef } from "../../protocol/process_ref.ts";
import { EncodedResult, escapeToAscii } from "../../rpc/encoded_result.ts";
import { attachmentsOf } from "../attachments.ts";
import type { MethodTable } from "../method_table.ts";
import type { CallContext, Outlet } from "../call_context.ts";
import { detailedResult, type ListPage, listPage, listResult } from "../process_listing.ts";
import { detailFields } from "../process_outlet.ts";
import type { SessionState } from "../session_state.ts";
import { startProcess } from "./start_assembly.ts";

type Context = CallContext<SessionState>;

export interface ProcessMethodsOptions {
  /** How much output of one process an answer can hold. */
  readonly retainedOutputBytes: number;
}

export function bindProcessMethods(
  table: MethodTable<Context, SessionState>,
  { retainedOutputBytes }: ProcessMethodsOptions,
): void {
  table.bind(METHODS.processStart, startProcess);

  const readRow: typeof METHODS.processRead = {
    ...METHODS.processRead,
    answerBytes: ({ maxBytes }) => outputAnswerBytes(Math.min(maxBytes ?? Infinity, retainedOutputBytes)),
  };
  table.bind(readRow, (params, context) => {
    const { afterSeq, maxBytes, waitMs } = params;
    const { resources, signal, outlet } = context;
    const answer = (outcome: ReadOutcome): ReadAnswer => {
      const rest = {
        nextSeq: outcome.nextSeq,
        ...exitFields(outlet, outcome),
        ...(outlet.wants.has("outputGap") ? outcome.gap : {}),
      };
      // Most polls find nothing, and what is short is sent soonest as one text.
      return outcome.chunks.length === 0 ? { chunks: [], ...rest } : encodeRead(outcome.chunks, rest);
    };
    const failed = failedStart(params, context);
    if (failed !== null) return answer({ ...failed, chunks: [], gap: { firstSeq: null, droppedBytes: 0 } });
    const target = resources.getProcess(params);
    if (resources.owns(target)) target.acknowledgeCursor(afterSeq ?? 0);
    const read = (forMs: number) =>
      target.read({ afterSeq: afterSeq ?? 0, maxBytes: maxBytes ?? null, waitMs: forMs, signal });
    const answerWhenRoom = (outcome: ReadOutcome): ReadAnswer | Promise<ReadAnswer> => {
      const room = context.promise(answerBytesOf(outcome));
      // Read again once there is room: what was found would take as much memory while it waits.
      return room === undefined ? answer(outcome) : room.then(() => read(0)).then(answer);
    };
    const outcome = read(waitMs ?? 0);
    return outcome instanceof Promise ? context.parked(outcome).then(answerWhenRoom) : answerWhenRoom(outcome);
  });

  table.bind(METHODS.processAck, (params, { resources }) => {
    const target = resources.getProcess(params);
    if (!resources.owns(target)) {
      throw invalidRequest(
        `process ${target.uid} belongs to another session, and only that session can acknowledge its output`,
      );
    }
    target.acknowledge(params.seq);
    return {};
  });

  table.bind(METHODS.processWrite, (params, context) => {
    const { chunk, writeId = null } = params;
    const { signal } = context;
    return inStatus(findToChange(params, context)?.write(chunk, { writeId, signal }) ?? "unknownProcess");
  });

  table.bind(METHODS.processCloseStdin, (params, context) => {
    return inStatus(findToChange(params, context)?.closeStdin(context.signal) ?? "unknownProcess");
  });

  table.bind(METHODS.processSignal, (params, context) => {
    findToChange(params, context)?.signal(params.signal, params.target);
    return {};
  });

  table.bind(METHODS.processTerminate, (params, context): ProcessTerminateResult | Promise<ProcessTerminateResult> => {
    const { mode, tree } = params;
    const target = findToChange(params, context);
    if (!tree) return { running: target?.terminate(mode) ?? false };
    const reason = whyNoLibc();
    if (reason !== null) throw invalidRequest(`Cannot find the descendants of a process: ${reason}`);
    return target?.terminateTree(mode) ?? { running: false, endedCount: 0, survivorPids: [] };
  });

  table.bind(METHODS.processResize, (params, context) => {
    const target = findToChange(params, context) ?? context.resources.getProcess(params);
    const by = params.uid === undefined ? context.outlet : attachmentsOf(context).partyFor(params.uid);
    target.resize({ rows: params.rows, cols: params.cols }, by);
    return {};
  });

  table.bind(METHODS.processWait, async (params, context): Promise<ProcessWaitResult> => {
    const { resources, outlet, signal } = context;
    const { until, timeoutMs = null } = params;
    const failed = failedStart(params, context);
    const wait = (): Promise<WaitOutcome> => {
      const target = resources.getProcess(params);
      const waiting = target.wait({ until, timeoutMs, signal });
      return target.isOver(until) || timeoutMs === 0 ? waiting : context.parked(waiting);
    };
    const outcome = failed === null ? await wait() : { ...failed, timedOut: false };
    return { ...exitFields(outlet, outcome), timedOut: outcome.timedOut, nextSeq: outcome.nextSeq };
  });

  const snapshotRow: typeof METHODS.processSnapshot = {
    ...METHODS.processSnapshot,
    answerBytes: () => outputAnswerBytes(retainedOutputBytes),
  };
  table.bind(snapshotRow, (params, { resources }): ProcessSnapshotResult => {
    const { stdout, stderr, terminal, truncated, exit, nextSeq } = resources.getProcess(params).snapshot();
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

  table.bind(METHODS.processList, (params, context): ProcessListResult | Promise<ProcessListResult> => {
    const { resources, outlet } = context;
    const page = () => listPage(params, resources);
    const result = (found: ListPage) =>
      params?.details === true ? detailedResult(found, outlet, resources.settings.backend) : listResult(found, outlet);
    const first = page();
    const room = first.bytes <= SHORT_LIST_BYTES ? undefined : context.promise(first.bytes);
    return room === undefined ? result(first) : room.then(() => result(page()));
  });
}

/** The process, for requests that change something. A connection that is attached only as a viewer is refused. */
function findToChange(ref: ProcessRef, context: Context): ManagedProcess | null {
  if (ref.uid !== undefined) attachmentsOf(context).requireControl(ref.uid);
  return context.resources.findProcess(ref);
}

/** What to say of an id whose start failed: only to clients that asked, since others expect it to be unknown. */
function failedStart({ processId }: ProcessRef, { resources, outlet }: Context): ProcessStatus | null {
  if (processId === undefined || !outlet.wants.has("processFailure")) return null;
  return resources.processes.failedStart(processId);
}

type ReadAnswer = ProcessReadResult | EncodedResult;

/** A `ProcessReadResult` with output. Base64 needs no escaping, and is not copied into one long text. */
function encodeRead(chunks: ReadOutcome["chunks"], rest: Omit<ProcessReadResult, "chunks">): EncodedResult {
  const parts: string[] = [];
  for (const { seq, stream, bytes } of chunks) {
    const before = parts.length === 0 ? "" : '"},';
    parts.push(`${before}{"seq":${seq},"stream":"${stream}","chunk":"`, bytes.toBase64());
  }
  const after = `],${escapeToAscii(JSON.stringify(rest)).slice(1)}`;
  return new EncodedResult('{"chunks":[', parts, `"}${after}`);
}

/** What a chunk takes in an answer besides its bytes: names, number, stream. */
const CHUNK_BYTES = 64;

function answerBytesOf({ chunks }: ReadOutcome): number {
  let bytes = 0;
  for (const chunk of chunks) bytes += chunk.bytes.length;
  return Math.ceil(bytes * 4 / 3) + chunks.length * CHUNK_BYTES;
}

function inStatus(status: WriteStatus | Promise<WriteStatus>): ProcessWriteResult | Promise<ProcessWriteResult> {
  return status instanceof Promise ? status.then((settled) => ({ status: settled })) : { status };
}

/** The state of a process, as `process/read` and `process/wait` both report it. */
function exitFields(outlet: Outlet, { exit, closed, networkDenials, failure }: ProcessStatus) {
  return {
    exited: exit !== null,
    exitCode: exit?.exitCode ?? null,
    closed,
    failure,
    sandboxDenied: exit?.sandboxDenied ?? false,
    ...detailFields(outlet, { end: exit?.end ?? null, networkDenials }),
  };
}
