/** `session/*`. */

import { METHODS } from "../../protocol/methods.ts";
import type { CallContext } from "../call_context.ts";
import type { MethodTable } from "../method_table.ts";
import type { SessionState } from "../session_state.ts";

export function bindSessionMethods(table: MethodTable<CallContext<SessionState>, SessionState>): void {
  table.bind(METHODS.sessionEnd, async (_params, context) => {
    await context.endSession();
    return {};
  });
}
