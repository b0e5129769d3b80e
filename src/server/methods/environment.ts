/** `environment/*`. */

import type { EnvironmentInfo, EnvironmentStatus, SandboxReport } from "../../protocol/environment.ts";
import { METHODS } from "../../protocol/methods.ts";
import type { MethodTable } from "../method_table.ts";
import type { Sandboxing } from "../sandboxing.ts";

export interface EnvironmentMethodsOptions {
  readonly info: EnvironmentInfo;
  readonly sandboxing: () => Promise<Sandboxing>;
}

export function bindEnvironmentMethods<Context>(
  table: MethodTable<Context>,
  { info, sandboxing }: EnvironmentMethodsOptions,
): void {
  const ready: EnvironmentStatus = { status: "ready" };
  table.bind(METHODS.environmentInfo, () => info);
  table.bind(METHODS.environmentStatus, () => ready);
  // Not part of the information above: it takes a probe, and neither start-up nor a handshake should wait for one.
  table.bind(METHODS.environmentSandbox, async (): Promise<SandboxReport> => (await sandboxing()).report());
}
