/** `process/attach` and `process/detach`: names of processes to what a connection is attached to. */

import { METHODS } from "../../protocol/methods.ts";
import type { ProcessAttachResult } from "../../protocol/process_results.ts";
import { attachmentsOf } from "../attachments.ts";
import type { CallContext } from "../call_context.ts";
import type { MethodTable } from "../method_table.ts";
import type { SessionState } from "../session_state.ts";

export function bindAttachMethods(table: MethodTable<CallContext<SessionState>, SessionState>): void {
  table.bind(METHODS.processAttach, (params, context): ProcessAttachResult => {
    const { directory, processes } = context.resources;
    const process = params.name === null
      ? directory.get(params.uid!, processes)
      : directory.getNamed(params.name, processes);
    const { gap } = process.view(0, 0);
    const { uid, processId, name, tty, size, nextSeq, exit, closed } = process.info();
    // A client that does not say where to begin has missed nothing.
    const afterSeq = params.afterSeq ?? (gap.firstSeq ?? 1) - 1;
    const { begin } = attachmentsOf(context).attach(process, { role: params.role, afterSeq });
    context.afterReply(begin);
    return {
      uid,
      processId,
      name,
      role: params.role,
      tty,
      size,
      nextSeq,
      firstSeq: gap.firstSeq,
      exited: exit !== null,
      exitCode: exit?.exitCode ?? null,
      closed,
    };
  });

  table.bind(METHODS.processDetach, (params, context) => {
    attachmentsOf(context).detach(params);
    return {};
  });
}
