/**
 * Which requests may be sent again when their connection was lost before the answer came: those that leave the same
 * behind however often they run. All others fail with "connection lost, outcome unknown", and their caller decides.
 */

import type { MethodName } from "../../protocol/method_types.ts";

type Rule = boolean | ((params: Record<string, unknown>) => boolean);

/** A method that is not here is not repeated. */
const RULES: Readonly<Partial<Record<MethodName | "process/ack", Rule>>> = {
  "environment/info": true,
  "environment/status": true,
  "environment/sandbox": true,
  "environmentConfig/read": true,
  "capabilityRoots/discoverV1": true,
  "capabilities/discoverV2": true,

  // The id is chosen here and used once: "already exists" means that the first attempt has arrived.
  "process/start": true,
  "process/read": true,
  "process/ack": true,
  // A repeated write id is not written again.
  "process/write": (params) => typeof params.writeId === "string",
  // For pipes. The end of a terminal's input is a character, and is sent as a write.
  "process/closeStdin": true,
  "process/terminate": true,
  "process/resize": true,
  "process/wait": true,
  "process/snapshot": true,
  "process/list": true,
  "session/end": true,

  "fs/readFile": true,
  // With a condition the second attempt would find what the first has written.
  "fs/writeFile": (params) => (params.ifMatch ?? null) === null,
  "fs/getMetadata": true,
  "fs/canonicalize": true,
  "fs/createDirectory": (params) => params.recursive !== false,
  "fs/readDirectory": true,
  "fs/list": true,
  "fs/walk": true,
  "fs/remove": (params) => params.force !== false,
  "fs/chmod": true,
  "fs/setTimes": true,
  "fs/unwatch": true,
};

/** Whether a request may be sent a second time. */
export function isRepeatable(method: string, params: unknown): boolean {
  const rule = RULES[method as MethodName] ?? false;
  return typeof rule === "function" ? rule((params ?? {}) as Record<string, unknown>) : rule;
}
