/** `environment/*`. */

import type { EnvironmentInfo, EnvironmentStatus } from "../../protocol/environment.ts";
import { METHODS } from "../../protocol/methods.ts";
import type { MethodTable } from "../../rpc/method_table.ts";

export function bindEnvironmentMethods<Context>(table: MethodTable<Context>, info: EnvironmentInfo): void {
  const ready: EnvironmentStatus = { status: "ready" };
  table.bind(METHODS.environmentInfo, () => info);
  table.bind(METHODS.environmentStatus, () => ready);
}
