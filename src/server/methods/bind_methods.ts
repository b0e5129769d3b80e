/** Binds every row of the table to its function. Loaded behind the listener (`late_methods.ts`), schemas and all. */

import type { Clock } from "../../clock.ts";
import type { HostFacts } from "../../environment/info.ts";
import { decodeParams } from "../../protocol/decode_params.ts";
import type { EnvironmentInfo } from "../../protocol/environment.ts";
import { METHODS } from "../../protocol/methods.ts";
import type { CallContext } from "../call_context.ts";
import type { Methods } from "../late_methods.ts";
import { lazily, MethodTable } from "../method_table.ts";
import type { Sandboxing } from "../sandboxing.ts";
import type { SessionState } from "../session_state.ts";
import { bindFsMethods } from "./bind_fs.ts";
import { bindNetMethods } from "./bind_net.ts";
import { bindEnvironmentMethods } from "./environment.ts";
import { bindAttachMethods } from "./attach.ts";
import { bindProcessMethods } from "./process.ts";
import { bindSessionMethods } from "./session.ts";

export interface MethodsOptions {
  readonly clock: Clock;
  readonly host: HostFacts;
  readonly info: EnvironmentInfo;
  readonly sandboxing: () => Promise<Sandboxing>;
  /** How much output of one process an answer can hold. */
  readonly retainedOutputBytes: number;
  readonly allowTunnel: boolean;
}

export interface BoundMethods extends Methods<CallContext<SessionState>, SessionState> {
  /** Makes the file methods ready before anything asks for them. */
  loadFiles(): Promise<unknown>;
}

export function bindMethods(options: MethodsOptions): BoundMethods {
  const { clock, host, info, sandboxing, retainedOutputBytes } = options;
  const table = new MethodTable<CallContext<SessionState>, SessionState>();
  bindEnvironmentMethods(table, { info, sandboxing });
  bindSessionMethods(table);
  table.bind(
    METHODS.rpcDiscover,
    lazily(async () => await (await import("./rpc_discover.ts")).createRpcDiscover()),
  );
  bindProcessMethods(table, { retainedOutputBytes });
  bindAttachMethods(table);
  bindNetMethods(table, options);
  const loadFiles = bindFsMethods(table, { clock, host, sandboxing });
  table.bind(
    METHODS.httpRequest,
    lazily(async () => (await import("./http.ts")).createHttpRequest(clock)),
  );
  return {
    prepare: (method, params) => table.prepare(method, params),
    decodeInitialize: (params) => decodeParams(METHODS.initialize.params, params),
    loadFiles,
  };
}
