/** Binds `net/*`: to the tunnels where the server may open them, and otherwise to a refusal. */

import { invalidRequest } from "../../errors.ts";
import { METHODS } from "../../protocol/methods.ts";
import type { CallContext } from "../call_context.ts";
import { lazily, type MethodTable } from "../method_table.ts";
import type { SessionState } from "../session_state.ts";

export function bindNetMethods(
  table: MethodTable<CallContext<SessionState>, SessionState>,
  { allowTunnel }: { readonly allowTunnel: boolean },
): void {
  let loading: Promise<ReturnType<typeof import("./net.ts").createNetMethods>> | null = null;
  const load = () => loading ??= loadNetMethods(allowTunnel);
  table.bind(METHODS.netConnect, lazily(async () => (await load()).connect));
  table.bind(METHODS.netWrite, lazily(async () => (await load()).write));
  table.bind(METHODS.netCloseWrite, lazily(async () => (await load()).closeWrite));
  table.bind(METHODS.netAck, lazily(async () => (await load()).ack));
  table.bind(METHODS.netClose, lazily(async () => (await load()).close));
}

async function loadNetMethods(allowTunnel: boolean) {
  if (!allowTunnel) throw invalidRequest("this server opens no tunnels: start it with --allow-tunnel");
  return (await import("./net.ts")).createNetMethods();
}
