/**
 * What `process/start` makes of its parameters: the environment, the confinement and the shell state of a child, put
 * together and handed to the session's processes. Imports no schemas: the first start comes before them.
 */

import { invalidRequest } from "../../errors.ts";
import { childEnv } from "../../launch/child_env.ts";
import { type LogFields, shortened } from "../../log.ts";
import type { SpawnRequest } from "../../process/backend.ts";
import type { ProcessStartRequest, ProcessStartResult } from "../../protocol/process.ts";
import type { CallContext } from "../call_context.ts";
import type { SessionState } from "../session_state.ts";

export async function startProcess(
  params: ProcessStartRequest,
  context: CallContext<SessionState>,
): Promise<ProcessStartResult> {
  context.label({ process: params.processId, ...metadataFields(params.metadata) });
  // A client that relies on a proxy to watch the network must never run without it.
  if (params.networkProxy !== null) throw invalidRequest("this server has no network proxy to launch processes with");
  const { processes, settings, shells } = context.resources;
  const { arg0, io, sandbox, enforceManagedNetwork, shellSnapshot: snapshot } = params;
  const sandboxing = sandbox !== null ? await settings.sandboxing() : null;
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
    // A policy that confines no files has refused none either, whatever the command says.
    isSandboxed: request.confinement !== undefined && request.confinement.leavesFilesToOthers !== true,
    timeoutMs: params.timeoutMs,
    idleTimeoutMs: params.idleTimeoutMs,
    keepOnSessionEnd: params.keepOnSessionEnd ?? settings.keepOnSessionEnd,
    output: params.output,
    name: params.name,
    log: context.log,
  });
  context.afterReply(() => started.begin());
  return {
    processId: started.processId,
    sandboxType: sandbox !== null ? SANDBOX_TYPE : "none",
    ...(context.outlet.wants.has("processUid") ? { uid: started.uid } : {}),
    ...(context.outlet.wants.has("acknowledgedOutput") ? { outputWindowBytes: started.windowBytes } : {}),
  };
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
const SANDBOX_TYPE = "linuxSeccomp";
